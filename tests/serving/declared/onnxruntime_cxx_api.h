// What the generated program takes from onnxruntime's C++ interface (1.16 and newer), declared by hand for a compiler that checks the
// program where no package has the headers: names, types of arguments and results, const, and what can be copied or moved. Nothing of
// it runs. Source: onnxruntime's documentation of its C and C++ interfaces.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

enum ONNXTensorElementDataType {
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64,
};
enum OrtLoggingLevel { ORT_LOGGING_LEVEL_WARNING = 2 };
enum OrtAllocatorType { OrtDeviceAllocator = 0, OrtArenaAllocator = 1 };
enum OrtMemType { OrtMemTypeDefault = 0 };
struct OrtAllocator;
struct OrtMemoryInfo;
#ifdef _WIN32
using ORTCHAR_T = wchar_t;
#else
using ORTCHAR_T = char;
#endif

namespace Ort {

struct Moved {  // owns something of onnxruntime's
  Moved() = default;
  Moved(Moved&&) = default;
  Moved& operator=(Moved&&) = default;
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;
};

struct Freed {
  void operator()(char*) const;
};
using AllocatedStringPtr = std::unique_ptr<char, Freed>;

struct AllocatorWithDefaultOptions {
  AllocatorWithDefaultOptions();
  operator OrtAllocator*() const;
};

struct Env : Moved {
  Env(OrtLoggingLevel level, const char* name);
};

struct SessionOptions : Moved {
  SessionOptions();
};

struct RunOptions : Moved {
  RunOptions();
  explicit RunOptions(std::nullptr_t);
};

struct MemoryInfo : Moved {
  static MemoryInfo CreateCpu(OrtAllocatorType type, OrtMemType memory);
  operator const OrtMemoryInfo*() const;
};

struct ModelMetadata : Moved {
  AllocatedStringPtr LookupCustomMetadataMapAllocated(const char* key, OrtAllocator* allocator) const;
};

struct TensorTypeAndShapeInfo : Moved {
  std::vector<int64_t> GetShape() const;
  ONNXTensorElementDataType GetElementType() const;
};

struct TypeInfo : Moved {
  TensorTypeAndShapeInfo GetTensorTypeAndShapeInfo() const;
};

struct Value : Moved {
  static Value CreateTensor(const OrtMemoryInfo* memory, void* data, size_t bytes, const int64_t* shape, size_t rank,
                            ONNXTensorElementDataType type);
  TensorTypeAndShapeInfo GetTensorTypeAndShapeInfo() const;
  const void* GetTensorRawData() const;
};

struct Session : Moved {
  Session(const Env& env, const ORTCHAR_T* path, const SessionOptions& options);
  size_t GetInputCount() const;
  size_t GetOutputCount() const;
  AllocatedStringPtr GetInputNameAllocated(size_t index, OrtAllocator* allocator) const;
  AllocatedStringPtr GetOutputNameAllocated(size_t index, OrtAllocator* allocator) const;
  TypeInfo GetInputTypeInfo(size_t index) const;
  ModelMetadata GetModelMetadata() const;
  std::vector<Value> Run(const RunOptions& options, const char* const* input_names, const Value* inputs, size_t input_count,
                         const char* const* output_names, size_t output_count);
};

}  // namespace Ort
