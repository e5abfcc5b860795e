// A program for any sizes: what of it depends on sizes is said in expressions of a few symbols, for which a run gives numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "program.h"

namespace gluonnx {

// A polynomial in atoms: the sum of factor * product of atoms. An atom is a symbol, or a quotient or remainder of two such sums.
struct Expression {
  struct Term {
    std::int64_t factor;
    std::vector<int> atoms;
  };
  std::vector<Term> terms;
};

struct Atom {
  enum Kind { symbol, quotient, remainder } kind;
  int left, right;  // the number of the symbol; expressions of earlier atoms only
};

// What has to be true of sizes: left (relation) right.
struct Guard {
  enum Relation { equal, unequal, less, at_most } relation;
  int left, right;  // expressions
};

// A number that is known, or an expression.
struct Extent {
  std::int64_t value;
  int expression = -1;
};

class Template {
 public:
  struct Operand {
    DType dtype;
    std::vector<Extent> shape;
    bool blocked;
    int halo_h, halo_w;
    Extent batch_stride;
    Place::Kind kind;
    int number;              // the storage in the arena, or which input, output or constant
    std::int64_t skipped;    // blocks of channels before the first, within the storage
  };
  // Memory that is in use from step first to step last; as large as what lies in it.
  struct Storage {
    int first, last;
  };
  struct Varying {
    std::string attribute;
    int at;  // in a tuple; -1 where the attribute is the number
    int expression;
  };
  struct Action {
    Step step;
    std::vector<Varying> varying;
  };

  // Throws std::invalid_argument where a number is none of what there is.
  Template(std::vector<Atom> atoms, std::vector<Expression> expressions, std::vector<Guard> guards, std::vector<Operand> operands,
           std::vector<Storage> storages, std::vector<Action> actions, int inputs, int outputs, int constants, int threads,
           bool precise, bool keep, bool guard);

  // All expressions for these symbols; empty where a guard fails, or a number has more than 62 bits.
  std::vector<std::int64_t> evaluate(const std::vector<std::int64_t>& symbols) const;
  // The program for values that evaluate gave. Throws what Program does. limit: bytes that its memory may take, else std::bad_alloc.
  std::unique_ptr<Program> program(const std::vector<std::int64_t>& values, std::size_t limit) const;

 private:
  bool atom(const Atom& atom, const std::vector<std::int64_t>& symbols, const std::vector<std::int64_t>& atoms, std::int64_t& value) const;
  bool sum(const Expression& expression, const std::vector<std::int64_t>& atoms, std::int64_t& value) const;
  std::size_t place(const std::vector<std::size_t>& sizes, std::vector<std::int64_t>& offsets) const;

  std::vector<Atom> atoms_;
  std::vector<Expression> expressions_;
  std::vector<Guard> guards_;
  std::vector<Operand> operands_;
  std::vector<Storage> storages_;
  std::vector<Action> actions_;
  int inputs_, outputs_, constants_, threads_;
  bool precise_, keep_, guard_;
};

}  // namespace gluonnx
