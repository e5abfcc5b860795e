// What Python sees of the compiled part: hybrid.native._core.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <limits>
#include <optional>

#include "arrays.h"
#include "engine/checksum.h"
#include "engine/control.h"
#include "engine/cpu.h"
#include "engine/library.h"
#include "engine/pool.h"
#include "engine/program.h"
#include "engine/template.h"
#include "gil.h"

namespace nb = nanobind;
using namespace gluonnx;

namespace {

// The numbers of a list or tuple.
template <class N>
std::vector<N> numbers_of(nb::handle given) {
  std::vector<N> numbers;
  for (nb::handle item : given) numbers.push_back(nb::cast<N>(item));
  return numbers;
}

// A tuple whose items are read one by one, each kind by a function that is compiled once.
class Fields {
 public:
  Fields(nb::handle given) : given_(nb::cast<nb::tuple>(given)) {}
  std::size_t size() const { return nb::len(given_); }
  __attribute__((noinline)) nb::handle operator[](int i) const {
    PyObject* item = PyTuple_GetItem(given_.ptr(), i);
    if (!item) throw nb::python_error();
    return item;
  }
  __attribute__((noinline)) bool flag(int i) const { return nb::cast<bool>((*this)[i]); }
  __attribute__((noinline)) int number(int i) const { return nb::cast<int>((*this)[i]); }
  __attribute__((noinline)) std::int64_t large(int i) const { return nb::cast<std::int64_t>((*this)[i]); }
  __attribute__((noinline)) std::string text(int i) const { return nb::cast<std::string>((*this)[i]); }
  __attribute__((noinline)) std::vector<int> numbers(int i) const { return numbers_of<int>((*this)[i]); }

 private:
  nb::tuple given_;
};

Attrs attrs_of(nb::dict given) {
  std::map<std::string, Attrs::Value> values;
  for (auto [key, value] : given) {
    Attrs::Value& place = values[nb::cast<std::string>(key)];
    if (value.is_none()) continue;
    if (nb::isinstance<nb::str>(value)) place = nb::cast<std::string>(value);
    else if (nb::isinstance<nb::float_>(value)) place = nb::cast<double>(value);
    else if (nb::isinstance<nb::tuple>(value)) {
      // None among them (the end of a slice) goes as the least number, which itself goes as the next: both lie before anything
      constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::min();
      std::vector<std::int64_t> numbers;
      for (nb::handle v : nb::cast<nb::tuple>(value))
        numbers.push_back(v.is_none() ? nothing : std::max(nb::cast<std::int64_t>(v), nothing + 1));
      place = std::move(numbers);
    }
    else place = nb::cast<std::int64_t>(value);  // int and bool
  }
  return Attrs(std::move(values));
}

constexpr std::size_t ANY = ~std::size_t{0};

// Memory of an array, held for as long as this lives.
class View {
 public:
  View(nb::handle array, bool writable, std::size_t wanted) {
    if (PyObject_GetBuffer(array.ptr(), &view_, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE)) throw nb::python_error();
    if (wanted != ANY && static_cast<std::size_t>(view_.len) != wanted) {
      auto got = view_.len;
      PyBuffer_Release(&view_);
      throw std::invalid_argument("got an array of " + std::to_string(got) + " bytes, wanted " + std::to_string(wanted));
    }
  }
  View(View&& other) noexcept : view_(other.view_) { other.view_.obj = nullptr; }
  View(const View&) = delete;
  ~View() {
    if (view_.obj) PyBuffer_Release(&view_);
  }
  void* data() const { return view_.buf; }
  std::size_t size() const { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_;
};

nb::dlpack::dtype dlpack_type(DType t) {
  using C = nb::dlpack::dtype_code;
  auto make = [&](C code) { return nb::dlpack::dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size_of(t)), 1}; };
  switch (t) {
    case DType::f16:
    case DType::f32:
    case DType::f64: return make(C::Float);
    case DType::i8:
    case DType::i32:
    case DType::i64: return make(C::Int);
    case DType::b1: return make(C::Bool);
    default: return make(C::UInt);  // bfloat16 and others go as the bits that they are; Python's side views them
  }
}

// Steps that NumPy does: function(number of the step, inputs, outputs), arrays over the program's memory.
class PythonHost : public Host {
 public:
  explicit PythonHost(nb::handle function) : function_(function) {}

  void run(const Program& program, int number, const void* const* in, void* const* out) override {
    Locked locked;
    nb::list inputs, outputs;
    const Step& step = program.steps()[number];
    for (std::size_t i = 0; i < step.in.size(); ++i) inputs.append(array(program.tensors()[step.in[i]], const_cast<void*>(in[i])));
    for (std::size_t i = 0; i < step.out.size(); ++i) outputs.append(array(program.tensors()[step.out[i]], out[i]));
    function_(step.number, inputs, outputs);
  }

 private:
  static nb::object array(const Tensor& t, void* data) {
    std::vector<std::size_t> shape(t.shape.begin(), t.shape.end());
    return nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), nb::none(), nullptr, dlpack_type(t.dtype)),
                    nb::rv_policy::reference);
  }

  nb::handle function_;
};

// What all steps are told: operator, attributes, inputs, outputs, and whether the host does it.
Step step_of(const Fields& s) { return {s.text(0), attrs_of(nb::cast<nb::dict>(s[1])), s.numbers(2), s.numbers(3), s.flag(4)}; }

class PyProgram {
 public:
  // tensors: (dtype, shape, blocked, halo_h, halo_w, batch_stride, place, at); steps: (op, attrs, inputs, outputs, host) and, where
  // there is one, the number by which the host knows it and control flow, or None: see control_of
  PyProgram(nb::list tensors, nb::list steps, std::size_t arena, int inputs, int outputs, int constants, int threads,
            bool precise, bool keep, bool guard)
      : constants_(constants) {
    std::vector<Tensor> all;
    std::vector<Place> places;
    for (nb::handle item : tensors) {
      const Fields t(item);
      Tensor tensor;
      tensor.dtype = dtype_named(t.text(0));
      tensor.shape = numbers_of<std::int64_t>(t[1]);
      tensor.blocked = t.flag(2);
      tensor.halo_h = t.number(3);
      tensor.halo_w = t.number(4);
      tensor.batch_stride = t.large(5);
      all.push_back(std::move(tensor));
      places.push_back({static_cast<Place::Kind>(t.number(6)), t.large(7)});
    }
    std::vector<Step> list;
    for (nb::handle item : steps) {
      const Fields s(item);
      list.push_back(step_of(s));
      list.back().number = s.size() > 5 ? s.number(5) : static_cast<int>(list.size()) - 1;
      if (s.size() > 6 && !s[6].is_none()) list.back().control = control_of(nb::cast<nb::dict>(s[6]));
    }
    program_ = std::make_shared<Program>(std::move(all), std::move(places), std::move(list), arena, inputs, outputs,
                                         constants, threads, precise, keep, guard);
  }

  explicit PyProgram(std::unique_ptr<Program> program) : program_(std::move(program)), constants_(program_->constants()) {}
  PyProgram(const PyProgram&) = delete;

  // Runs with the constants that the first of others has, if what they have packed of them suits the sizes of this one: their
  // number, else -1.
  std::int64_t adopt(nb::sequence others) {
    const std::int64_t number = program_->adopt(programs_of(others));
    if (number >= 0) views_ = nb::cast<PyProgram&>(others[0]).views_;
    return number;
  }

  // Shares what others have packed alike.
  void share(nb::sequence others) { program_->share(programs_of(others)); }

  // arrays: one for each constant, or None where it stays as it is; changed: numbers of those with other values than before.
  // What one step reads has to come in one call. Gives the numbers of those that runs read, which this keeps; the others are
  // packed and may go. number: what runs with these constants have to say.
  std::vector<int> set_constants(nb::sequence arrays, nb::sequence changed, std::int64_t number_of_all) {
    std::vector<std::optional<View>> views(constants_);
    std::vector<const void*> values(constants_, nullptr);
    std::vector<bool> which(constants_, false);
    for (int i : numbers_of<int>(changed)) which.at(i) = true;
    const std::vector<std::size_t> sizes = sizes_of_constants();
    if (nb::len(arrays) != static_cast<std::size_t>(constants_))
      throw std::invalid_argument("wanted as many constants as the program has");
    int number = 0;
    for (nb::handle array : arrays) {
      if (!array.is_none()) {
        views[number].emplace(array, false, sizes[number]);
        values[number] = views[number]->data();
      }
      ++number;
    }
    {
      Unlocked unlocked;
      program_->set_constants(values, which, number_of_all);
    }
    views_.resize(constants_);
    std::vector<int> kept;
    const std::vector<bool> read = program_->read_constants();
    for (number = 0; number < constants_; ++number) {
      if (!views[number]) continue;
      views_[number].reset();
      if (!read[number]) continue;
      kept.push_back(number);
      views_[number] = std::make_shared<View>(std::move(*views[number]));
    }
    return kept;
  }

  // What each step has packed, as (form, array over the program's memory, with room behind the numbers), see Program::kept.
  nb::list kept(int step) const {
    if (step < 0 || static_cast<std::size_t>(step) >= program_->steps().size()) throw std::invalid_argument("there is no such step");
    nb::list found;
    for (const Kept& k : program_->kept(step)) {
      const std::size_t size = k.count;
      found.append(nb::make_tuple(k.form, nb::cast(nb::ndarray<nb::numpy, const float>(k.memory->data(), 1, &size, nb::find(this)),
                                                   nb::rv_policy::reference)));
    }
    return found;
  }

  // Constants as they lie in a file: arrays, one for each or None; packed, for each step a list as kept gave it, with Floats::ROOM
  // floats behind each array. This keeps all of them.
  void restore(nb::sequence arrays, nb::list packed, std::int64_t number) {
    std::vector<std::shared_ptr<View>> views(constants_);
    std::vector<const void*> values(constants_, nullptr);
    if (nb::len(arrays) != static_cast<std::size_t>(constants_))
      throw std::invalid_argument("wanted as many constants as the program has");
    const std::vector<std::size_t> sizes = sizes_of_constants();
    int at = 0;
    for (nb::handle array : arrays) {
      if (!array.is_none()) {
        views[at] = std::make_shared<View>(array, false, sizes[at]);
        values[at] = views[at]->data();
      }
      ++at;
    }
    std::vector<std::vector<Program::Packed>> all;
    for (nb::handle step : packed) {
      all.emplace_back();
      for (nb::handle item : nb::cast<nb::list>(step)) {
        const Fields pair(item);
        auto view = std::make_shared<View>(pair[1], false, ANY);
        auto* memory = static_cast<float*>(view->data());
        const std::size_t bytes = view->size();
        all.back().push_back({std::shared_ptr<float>(std::move(view), memory), bytes, pair.text(0)});
      }
    }
    {
      Unlocked unlocked;
      program_->restore(values, all, number);
    }
    views_ = std::move(views);
  }

  // host: does the steps that no kernel does, None when there can be none (sure); number: of the constants that it is to run with. Gives
  // false, and nothing is done, where these are not there (any more).
  bool run(nb::sequence inputs, nb::sequence outputs, nb::object host, std::int64_t number) {
    return go(inputs, outputs, host, number, nullptr);
  }

  // As run, for a program of one input, one output and kernels only: for calls that are short themselves. False also where a kernel
  // leaves values to NumPy.
  bool run_one(nb::handle input, nb::handle output, std::int64_t number) {
    const auto& takes = program_->input_tensors();
    const auto& gives = program_->output_tensors();
    if (takes.size() != 1 || gives.size() != 1) throw std::invalid_argument("the program has other operands than one in and one out");
    View in(input, false, takes[0] < 0 ? ANY : program_->bytes(takes[0])), out(output, true, program_->bytes(gives[0]));
    const void* from = in.data();
    void* to = out.data();
    nb::gil_scoped_release release;
    return unless_refused([&] { return program_->run(&from, &to, nullptr, number); });
  }

  // As run_one, for any numbers of inputs and outputs.
  bool run_some(nb::sequence inputs, nb::sequence outputs, std::int64_t number) {
    return unless_refused([&] { return go(inputs, outputs, nb::none(), number, nullptr); });
  }

  // As run, with the seconds of each step; none of them where run gives false.
  std::vector<double> profile(nb::sequence inputs, nb::sequence outputs, nb::object host, std::int64_t number) {
    std::vector<double> seconds(program_->steps().size(), 0.0);
    if (!go(inputs, outputs, host, number, seconds.data())) seconds.clear();
    return seconds;
  }

  nb::list describe() const {
    nb::list rows;
    for (std::size_t s = 0; s < program_->steps().size(); ++s) {
      const Kernel* kernel = program_->kernel(static_cast<int>(s));
      nb::dict row;
      row["op"] = program_->steps()[s].op;
      row["native"] = kernel != nullptr;
      row["how"] = kernel ? kernel->how : std::string("numpy");
      row["flops"] = kernel ? kernel->flops : 0.0;
      double bytes = kernel ? kernel->bytes : 0.0;
      if (bytes == 0.0) {
        for (int t : program_->steps()[s].in) bytes += program_->bytes(t);
        for (int t : program_->steps()[s].out) bytes += program_->bytes(t);
      }
      row["bytes"] = bytes;
      rows.append(row);
    }
    return rows;
  }

  std::vector<bool> native() const {
    std::vector<bool> which;
    for (std::size_t s = 0; s < program_->steps().size(); ++s) which.push_back(program_->kernel(static_cast<int>(s)));
    return which;
  }

  bool sure() const { return program_->sure(); }
  bool complete() const { return program_->complete(); }
  // How many runs of run_one and run_some have come to nothing because a kernel left values to NumPy.
  int refusals() const { return refusals_; }

  double flops() const {
    double sum = 0;
    for (std::size_t s = 0; s < program_->steps().size(); ++s)
      if (const Kernel* kernel = program_->kernel(static_cast<int>(s))) sum += kernel->flops;
    return sum;
  }

  std::size_t arena_bytes() const { return program_->arena_bytes(); }

  // A body: (program, inputs, results, constants), with inputs as (kind, number, backward) and results as (kind, number, backward,
  // dtype, place, at); see engine/control.h.
  static Body body_of(nb::handle given) {
    const Fields parts(given);
    Body body;
    body.program = nb::cast<PyProgram&>(parts[0]).program_;
    for (nb::handle item : parts[1]) {
      const Fields t(item);
      body.inputs.push_back({static_cast<Source::Kind>(t.number(0)), t.number(1), t.flag(2)});
    }
    for (nb::handle item : parts[2]) {
      const Fields t(item);
      body.results.push_back({static_cast<Target::Kind>(t.number(0)), t.number(1), t.flag(2), dtype_named(t.text(3)),
                              {static_cast<Place::Kind>(t.number(4)), t.large(5)}});
    }
    body.constants = parts.numbers(3);
    return body;
  }

  // The fields of LoopSpec or BranchSpec by name; one of "bodies" is a loop, two are branches.
  static std::shared_ptr<Control> control_of(nb::dict given) {
    const auto number = [&](const char* name) { return nb::cast<int>(given[name]); };
    const auto large = [&](const char* name) { return nb::cast<std::int64_t>(given[name]); };
    auto bodies = nb::cast<nb::list>(given["bodies"]);
    auto kept = numbers_of<int>(given["kept"]);
    std::vector<Body> condition;
    for (nb::handle item : nb::cast<nb::list>(given["condition"])) condition.push_back(body_of(item));
    if (nb::len(bodies) == 2)
      return make_branch({std::move(condition), number("chosen"), {body_of(bodies[0]), body_of(bodies[1])}, kept});
    LoopSpec spec{body_of(bodies[0]), std::move(condition), {}};
    for (nb::handle item : nb::cast<nb::list>(given["states"])) {
      const Fields state(item);
      spec.states.push_back({state.number(0), state.number(1)});
    }
    spec.count = large("count");
    spec.budget = large("budget");
    spec.examples = large("examples");
    spec.limit = number("limit");
    spec.begin = number("begin");
    spec.lengths = number("lengths");
    spec.some = number("some") != 0;
    spec.exact = number("exact") != 0;
    spec.told = number("told");
    spec.kept = kept;
    return make_loop(std::move(spec));
  }

 private:
  // Bytes of each constant; ANY for one that no step reads.
  std::vector<std::size_t> sizes_of_constants() const {
    std::vector<std::size_t> sizes(constants_, ANY);
    for (std::size_t i = 0; i < program_->tensors().size(); ++i) {
      auto place = program_->place(static_cast<int>(i));
      if (place.kind != Place::constant) continue;
      const std::size_t bytes = program_->bytes(static_cast<int>(i));
      if (sizes[place.at] == ANY || sizes[place.at] < bytes) sizes[place.at] = bytes;
    }
    return sizes;
  }

  static std::vector<Program*> programs_of(nb::sequence others) {
    std::vector<Program*> found;
    for (nb::handle other : others) found.push_back(nb::cast<PyProgram&>(other).program_.get());
    return found;
  }

  template <class F>
  bool unless_refused(F&& run) {
    try {
      return run();
    } catch (const Refused&) {
      ++refusals_;
      return false;
    }
  }

  bool go(nb::sequence inputs, nb::sequence outputs, nb::handle function, std::int64_t number, double* seconds) {
    std::vector<View> views;
    std::vector<const void*> in;
    std::vector<void*> out;
    const auto& takes = program_->input_tensors();
    const auto& gives = program_->output_tensors();
    views.reserve(takes.size() + gives.size());
    std::size_t i = 0;
    for (nb::handle array : inputs) {
      if (i >= takes.size()) throw std::invalid_argument("got too many inputs");
      // an input that no step reads has no tensor, and its memory is of no interest
      if (takes[i] < 0) in.push_back(nullptr);
      else {
        views.emplace_back(array, false, program_->bytes(takes[i]));
        in.push_back(views.back().data());
      }
      ++i;
    }
    if (i != takes.size()) throw std::invalid_argument("got too few inputs");
    i = 0;
    for (nb::handle array : outputs) {
      if (i >= gives.size()) throw std::invalid_argument("got too many outputs");
      views.emplace_back(array, true, program_->bytes(gives[i++]));
      out.push_back(views.back().data());
    }
    if (i != gives.size()) throw std::invalid_argument("got too few outputs");
    PythonHost host(function);
    Unlocked unlocked;
    return program_->run(in.data(), out.data(), function.is_none() ? nullptr : &host, number, seconds);
  }

  std::shared_ptr<Program> program_;
  std::atomic<int> refusals_{0};
  int constants_;
  std::vector<std::shared_ptr<View>> views_;
};

// A number, or an expression as the tuple of its number.
Extent extent_of(nb::handle given) {
  if (nb::isinstance<nb::tuple>(given)) return {0, Fields(given).number(0)};
  return {nb::cast<std::int64_t>(given)};
}

class PyTemplate {
 public:
  // atoms: (kind, left, right); expressions: lists of (factor, atoms); guards: (relation, left, right); tensors: (dtype, shape, blocked,
  // halo_h, halo_w, batch_stride, place, number, skipped); storages: (first, last); steps: (op, attrs, inputs, outputs, host, number,
  // control, varying), the last a list of (attribute, at, expression), the others as those of a program.
  PyTemplate(nb::sequence atoms, nb::sequence expressions, nb::sequence guards, nb::sequence tensors, nb::sequence storages,
             nb::sequence steps, int inputs, int outputs, int constants, int threads, bool precise, bool keep, bool guard) {
    std::vector<Atom> all_atoms;
    for (const Fields t : atoms) all_atoms.push_back({static_cast<Atom::Kind>(t.number(0)), t.number(1), t.number(2)});
    std::vector<Expression> sums;
    for (nb::handle terms : expressions) {
      sums.emplace_back();
      for (const Fields t : terms) sums.back().terms.push_back({t.large(0), t.numbers(1)});
    }
    std::vector<Guard> conditions;
    for (const Fields t : guards) {
      const int relation = t.number(0);
      if (relation < 0 || relation > Guard::at_most) throw std::invalid_argument("a guard has no such relation");
      conditions.push_back({static_cast<Guard::Relation>(relation), t.number(1), t.number(2)});
    }
    std::vector<Template::Operand> operands;
    for (const Fields t : tensors) {
      Template::Operand o{dtype_named(t.text(0)), {}, t.flag(2), t.number(3), t.number(4), extent_of(t[5]),
                          static_cast<Place::Kind>(t.number(6)), t.number(7), t.large(8)};
      for (nb::handle d : t[1]) o.shape.push_back(extent_of(d));
      operands.push_back(std::move(o));
    }
    std::vector<Template::Storage> memory;
    for (const Fields t : storages) memory.push_back({t.number(0), t.number(1)});
    std::vector<Template::Action> actions;
    for (const Fields s : steps) {
      Template::Action action{step_of(s), {}};
      action.step.number = s.number(5);
      if (!s[6].is_none()) action.step.control = PyProgram::control_of(nb::cast<nb::dict>(s[6]));
      for (const Fields t : s[7]) action.varying.push_back({t.text(0), t.number(1), t.number(2)});
      actions.push_back(std::move(action));
    }
    template_ = std::make_unique<Template>(std::move(all_atoms), std::move(sums), std::move(conditions), std::move(operands),
                                           std::move(memory), std::move(actions), inputs, outputs, constants, threads, precise,
                                           keep, guard);
  }

  // Values of all expressions for these symbols; empty where a guard fails.
  std::vector<std::int64_t> evaluate(nb::sequence symbols) const { return template_->evaluate(numbers_of<std::int64_t>(symbols)); }

  // The program for values that evaluate gave, if its memory takes no more than so many bytes.
  std::unique_ptr<PyProgram> program(nb::sequence values, std::size_t limit) const {
    return std::make_unique<PyProgram>(template_->program(numbers_of<std::int64_t>(values), limit));
  }

 private:
  std::unique_ptr<Template> template_;
};

// The checksum of an array's memory, or of bytes.
nb::bytes checksum_of(nb::handle array) {
  View view(array, false, ANY);
  Checksum sums;
  {
    Unlocked unlocked;
    sums = checksum(static_cast<const std::byte*>(view.data()), view.size());
  }
  return nb::bytes(reinterpret_cast<const char*>(sums.data()), sizeof sums);
}

}  // namespace

// Raise an error of hybrid.core.error by its name there.
void raise(const char* kind, const char* what) {
  nb::object type = nb::module_::import_("hybrid.core.error").attr(kind);
  PyErr_SetString(type.ptr(), what);
}

// What C++ throws as errors that are MXNetErrors; nanobind's own stay what they are.
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const nb::builtin_exception&) {
    throw;
  } catch (const std::bad_alloc&) {
    raise("OutOfMemory", "there is not enough memory for this; give smaller sizes, or fewer at a time");
  } catch (const std::invalid_argument& error) {
    raise("NativeArgumentError", error.what());
  } catch (const std::logic_error& error) {
    raise("InternalError", error.what());
  } catch (const std::runtime_error& error) {
    raise("MXNetError", error.what());
  }
}

NB_MODULE(_core, m) {
  nb::register_exception_translator(translate);
  nb::set_leak_warnings(false);  // programs live as long as the blocks that made them: to the very end of the process
  m.def("load_library", &load_library);
  m.def("kernels", &kernel_names);
  m.def("cpu_levels", &cpu_levels);
  m.def("threads", &threads);
  m.def("set_threads", &set_threads);
  m.def("checksum", &checksum_of);
  bind_arrays(m);
  bind_gil(m);
  nb::class_<PyProgram>(m, "Program")
      .def(nb::init<nb::list, nb::list, std::size_t, int, int, int, int, bool, bool, bool>(), nb::arg("tensors"), nb::arg("steps"),
           nb::arg("arena"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("constants"), nb::arg("threads"), nb::arg("precise"), nb::arg("keep") = false,
           nb::arg("guard") = false)
      .def("set_constants", &PyProgram::set_constants, nb::arg("arrays"), nb::arg("changed"), nb::arg("number") = 0)
      .def("run", &PyProgram::run, nb::arg("inputs"), nb::arg("outputs"), nb::arg("host").none(), nb::arg("number") = 0)
      .def("run_one", &PyProgram::run_one)
      .def("run_some", &PyProgram::run_some)
      .def("profile", &PyProgram::profile, nb::arg("inputs"), nb::arg("outputs"), nb::arg("host").none(), nb::arg("number") = 0)
      .def("describe", &PyProgram::describe)
      .def("native", &PyProgram::native)
      .def("sure", &PyProgram::sure)
      .def("complete", &PyProgram::complete)
      .def("refusals", &PyProgram::refusals)
      .def("adopt", &PyProgram::adopt)
      .def("kept", &PyProgram::kept)
      .def("restore", &PyProgram::restore)
      .def("share", &PyProgram::share)
      .def("flops", &PyProgram::flops)
      .def("arena_bytes", &PyProgram::arena_bytes);
  nb::class_<PyTemplate>(m, "Template")
      .def(nb::init<nb::sequence, nb::sequence, nb::sequence, nb::sequence, nb::sequence, nb::sequence, int, int, int, int, bool, bool,
                    bool>(),
           nb::arg("atoms"), nb::arg("expressions"), nb::arg("guards"), nb::arg("tensors"), nb::arg("storages"), nb::arg("steps"),
           nb::arg("inputs"), nb::arg("outputs"), nb::arg("constants"), nb::arg("threads"), nb::arg("precise"),
           nb::arg("keep") = false, nb::arg("guard") = false)
      .def("evaluate", &PyTemplate::evaluate)
      .def("program", &PyTemplate::program);
}
