#include "io/containers/netcdf/netcdf_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/disk/byte_order.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

constexpr std::int32_t no_list = 0, dimension_list = 10, variable_list = 11, attribute_list = 12;
constexpr std::int64_t piece_bytes = 65536, most_axes = 1024;

// The grammar is that of "The NetCDF Classic Format Specification" and PnetCDF's of CDF-5.
class HeaderReader {
 public:
  explicit HeaderReader(const InputFile& file) : file_(file) {}

  NetcdfHeader operator()() {
    const std::string magic = text(4);
    version_ = magic[3];
    if (magic.substr(0, 3) != "CDF" || (version_ != 1 && version_ != 2 && version_ != 5))
      fail("this is not a classic netCDF file");
    count();  // of records
    read_dimensions();
    NetcdfHeader header;
    header.attributes = attributes();
    for (std::int64_t left = entries(variable_list); left > 0; --left) {
      std::string name = this->name();
      header.variables[std::move(name)] = variable();
    }
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw core::Error(what, fmt::format("{}, byte {}", file_.path(), position_), "the file is damaged");
  }

  // The file is read a piece at a time.
  std::vector<std::byte> take(std::int64_t bytes) {
    if (bytes < 0 || bytes > file_.size_bytes() - position_) fail("the header ends beyond the end of the file");
    if (position_ < piece_begin_ || position_ + bytes > piece_begin_ + static_cast<std::int64_t>(piece_.size())) {
      piece_begin_ = position_;
      piece_ = file_.bytes(position_, std::min(std::max(bytes, piece_bytes), file_.size_bytes() - position_));
    }
    const auto first = piece_.begin() + (position_ - piece_begin_);
    position_ += bytes;
    return {first, first + bytes};
  }
  std::int32_t word() { return numbers_in<std::int32_t>(take(4), ByteOrder::big)[0]; }
  std::int64_t long_word() { return numbers_in<std::int64_t>(take(8), ByteOrder::big)[0]; }
  std::int64_t count() { return version_ == 5 ? long_word() : word(); }
  std::string text(std::int64_t length) {
    const std::vector<std::byte> bytes = take(length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void skip_padding(std::int64_t bytes) { take((4 - bytes % 4) % 4); }
  std::string name() {
    const std::int64_t length = count();
    std::string found = text(length);
    skip_padding(length);
    return found;
  }
  NetcdfType type() {
    const std::int32_t code = word();
    if (code < 1 || code > 11) fail("there is no type of this number");
    return static_cast<NetcdfType>(code);
  }

  // How many entries a list has.
  std::int64_t entries(std::int32_t kind) {
    const std::int32_t found = word();
    const std::int64_t number = count();
    if (found != kind && !(found == no_list && number == 0)) fail("another list was expected");
    // Each takes some bytes.
    if (number < 0 || number > file_.size_bytes() - position_) fail("the list is longer than the file");
    return number;
  }

  void read_dimensions() {
    for (std::int64_t left = entries(dimension_list); left > 0; --left) {
      name();
      dimensions_.push_back(count());
      if (dimensions_.back() < 0) fail("a dimension has no length");
    }
  }

  NetcdfAttributes attributes() {
    NetcdfAttributes all;
    for (std::int64_t left = entries(attribute_list); left > 0; --left) {
      std::string key = name();
      NetcdfAttribute attribute;
      attribute.type = type();
      const std::int64_t number = count();
      if (number < 0 || number > file_.size_bytes()) fail("the attribute is longer than the file");
      attribute.bytes = take(number * size_of(attribute.type));
      skip_padding(number * size_of(attribute.type));
      all[std::move(key)] = std::move(attribute);
    }
    return all;
  }

  NetcdfVariable variable() {
    NetcdfVariable found;
    const std::int64_t axes = count();
    if (axes < 0 || axes > most_axes) fail("the variable has an absurd number of axes");
    for (std::int64_t axis = 0; axis < axes; ++axis) {
      const std::int64_t id = count();
      if (id < 0 || id >= static_cast<std::int64_t>(dimensions_.size())) fail("there is no such dimension");
      found.shape.push_back(dimensions_[static_cast<std::size_t>(id)]);
      found.has_records = found.has_records || found.shape.back() == 0;
    }
    found.attributes = attributes();
    found.type = type();
    count();  // its bytes, which follow from the shape
    found.offset = version_ == 1 ? word() : long_word();
    check_place(found);
    return found;
  }
  void check_place(const NetcdfVariable& found) const {
    if (found.offset < 0 || found.offset > file_.size_bytes()) fail("a variable is behind the end of the file");
    std::int64_t left = (file_.size_bytes() - found.offset) / size_of(found.type);
    for (const std::int64_t length : found.shape) {
      if (length > 0 && left / length == 0) fail("a variable ends behind the end of the file");
      if (length > 0) left /= length;
    }
  }

  const InputFile& file_;
  std::int64_t position_ = 0, piece_begin_ = 0;
  std::vector<std::byte> piece_;
  int version_ = 0;
  std::vector<std::int64_t> dimensions_;
};

template <typename To, typename From>
std::vector<To> converted(const std::vector<std::byte>& bytes) {
  const std::vector<From> values = numbers_in<From>(bytes, ByteOrder::big);
  std::vector<To> all;
  all.reserve(values.size());
  for (const From value : values) all.push_back(static_cast<To>(value));
  return all;
}

template <typename To>
std::vector<To> numbers(NetcdfType type, const std::vector<std::byte>& bytes) {
  switch (type) {
    case NetcdfType::int8:
      return converted<To, std::int8_t>(bytes);
    case NetcdfType::text:
    case NetcdfType::uint8:
      return converted<To, std::uint8_t>(bytes);
    case NetcdfType::int16:
      return converted<To, std::int16_t>(bytes);
    case NetcdfType::uint16:
      return converted<To, std::uint16_t>(bytes);
    case NetcdfType::int32:
      return converted<To, std::int32_t>(bytes);
    case NetcdfType::uint32:
      return converted<To, std::uint32_t>(bytes);
    case NetcdfType::float32:
      return converted<To, float>(bytes);
    case NetcdfType::float64:
      return converted<To, double>(bytes);
    case NetcdfType::int64:
      return converted<To, std::int64_t>(bytes);
    case NetcdfType::uint64:
      return converted<To, std::uint64_t>(bytes);
  }
  return {};
}

}  // namespace

std::int64_t size_of(NetcdfType type) {
  switch (type) {
    case NetcdfType::int8:
    case NetcdfType::text:
    case NetcdfType::uint8:
      return 1;
    case NetcdfType::int16:
    case NetcdfType::uint16:
      return 2;
    case NetcdfType::int32:
    case NetcdfType::uint32:
    case NetcdfType::float32:
      return 4;
    default:
      return 8;
  }
}

NetcdfHeader read_netcdf_header(const InputFile& file) {
  return HeaderReader(file)();
}

std::vector<double> netcdf_doubles(NetcdfType type, const std::vector<std::byte>& bytes) {
  return numbers<double>(type, bytes);
}

std::vector<std::int64_t> netcdf_integers(NetcdfType type, const std::vector<std::byte>& bytes) {
  if (type == NetcdfType::float32 || type == NetcdfType::float64)
    throw core::Error("integers were expected, not real numbers");
  return numbers<std::int64_t>(type, bytes);
}

}  // namespace sidestream::io
