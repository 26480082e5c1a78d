#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/field_view.hpp"

namespace sidestream::mesh {

/// The types of elements that travel; those of fields are reals, complex numbers and the two integers that follow them.
enum class ElementType {
  float32,
  float64,
  complex64,
  complex128,
  int32,
  int64,
  int8,
  int16,
  uint8,
  uint16,
  uint32,
  uint64
};

template <typename T>
struct ElementTypeOf;
template <>
struct ElementTypeOf<float> : std::integral_constant<ElementType, ElementType::float32> {};
template <>
struct ElementTypeOf<double> : std::integral_constant<ElementType, ElementType::float64> {};
template <>
struct ElementTypeOf<std::complex<float>> : std::integral_constant<ElementType, ElementType::complex64> {};
template <>
struct ElementTypeOf<std::complex<double>> : std::integral_constant<ElementType, ElementType::complex128> {};
template <>
struct ElementTypeOf<std::int32_t> : std::integral_constant<ElementType, ElementType::int32> {};
template <>
struct ElementTypeOf<std::int64_t> : std::integral_constant<ElementType, ElementType::int64> {};
template <>
struct ElementTypeOf<std::int8_t> : std::integral_constant<ElementType, ElementType::int8> {};
template <>
struct ElementTypeOf<std::int16_t> : std::integral_constant<ElementType, ElementType::int16> {};
template <>
struct ElementTypeOf<std::uint8_t> : std::integral_constant<ElementType, ElementType::uint8> {};
template <>
struct ElementTypeOf<std::uint16_t> : std::integral_constant<ElementType, ElementType::uint16> {};
template <>
struct ElementTypeOf<std::uint32_t> : std::integral_constant<ElementType, ElementType::uint32> {};
template <>
struct ElementTypeOf<std::uint64_t> : std::integral_constant<ElementType, ElementType::uint64> {};

std::size_t size_bytes(ElementType type);
/// "float64".
std::string to_string(ElementType type);
/// The type of a name; throws core::Error that lists the names there are.
ElementType element_type(std::string_view name);
/// Throws core::Error naming both unless they are the same.
void require_type(ElementType wanted, ElementType found);

/// A view of which only the program that runs knows the elements' type. `Cell` is void, or const void: cells are only
/// read.
template <typename Cell>
class AnyView {
 public:
  AnyView() = default;
  /// Of elements of `type` that lie where `table` says.
  AnyView(ElementType type, std::shared_ptr<const BlockTable> table) : type_(type), table_(std::move(table)) {}
  template <typename T>
  requires(std::is_const_v<Cell> || !std::is_const_v<T>) AnyView(const FieldView<T>& view)  // NOLINT: as good as one
      : type_(ElementTypeOf<std::remove_const_t<T>>::value), table_(view.table()) {}
  template <typename T>
  AnyView(Field<T>& field) : AnyView(FieldView<T>(field)) {}  // NOLINT
  template <typename T>
  requires std::is_const_v<Cell> AnyView(const Field<T>& field) : AnyView(FieldView<const T>(field)) {}  // NOLINT
  template <typename T>
  requires std::is_const_v<Cell> AnyView(std::shared_ptr<Field<T>> field)  // NOLINT
      : AnyView(FieldView<const T>(std::move(field))) {}
  template <typename T>
  requires std::is_const_v<Cell> AnyView(std::shared_ptr<const Field<T>> field)  // NOLINT
      : AnyView(FieldView<const T>(std::move(field))) {}
  AnyView(const AnyView<void>& other) requires std::is_const_v<Cell>  // NOLINT
      : type_(other.type()), table_(other.shared_table()) {}

  ElementType type() const { return type_; }
  const BlockTable& table() const { return table_ ? *table_ : no_blocks(); }
  const std::shared_ptr<const BlockTable>& shared_table() const { return table_; }
  explicit operator bool() const { return table_ != nullptr; }

  template <typename T>
  bool holds() const {
    return type_ == ElementTypeOf<T>::value;
  }
  /// Throws core::Error when the elements are of another type.
  template <typename T>
  auto as() const {
    require_type(ElementTypeOf<T>::value, type_);
    return FieldView<std::conditional_t<std::is_const_v<Cell>, const T, T>>(table_);
  }

 private:
  ElementType type_ = ElementType::float64;
  std::shared_ptr<const BlockTable> table_;
};

using AnyField = AnyView<const void>;
using WritableField = AnyView<void>;

}  // namespace sidestream::mesh
