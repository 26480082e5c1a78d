#include "sidestream/io/picture_files.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "io/pictures/pixels.hpp"
#include "io/pictures/pyramid.hpp"
#include "io/pictures/whole_picture.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

constexpr std::string_view viewer =
#include "python/sidestream/pictures/viewer.js.inc"
    ;

void write_page(const mesh::Picture& picture, const std::string& folder) {
  const nlohmann::json about = {{"name", picture.name}, {"width", picture.columns},          {"height", picture.rows},
                                {"tile", tile_side},    {"levels", pyramid_levels(picture)}, {"step", picture.step},
                                {"time", picture.time}, {"tiles", picture.name + "_files/"}};
  std::string page = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>" + picture.name +
                     "</title>\n<body>\n<script>\n";
  page.append(viewer)
      .append("\nshowPicture(document.body, ")
      .append(about.dump())
      .append(");\n</script>\n</body></html>\n");
  OutputFile file(folder + "/index.html", OutputFile::Open::create);
  file.write(page);
  file.close();
}

}  // namespace

std::string pictures_path(const std::string& path) {
  return std::filesystem::path(path).replace_extension(".pictures").string();
}

void write_pictures(const comm::Communicator& comm, const mesh::Picture& picture, const std::string& path) {
  const std::string folder = temporary_name(pictures_path(path));
  try {
    comm.agree_on([&] {
      if (comm.rank() != 0) return;
      make_lasting_folder(std::filesystem::path(path).parent_path().string());
      remove_all(folder);
      make_folder(folder);
      if (picture.has_pyramid) write_page(picture, folder);
    });
    const std::string name = folder + "/" + picture.name;
    if (picture.has_pyramid) write_pyramid(comm, picture, folder);
    if (picture.is_whole) write_whole_picture(comm, picture, 0, name + ".png");
    if (picture.frame_side > 0)
      write_whole_picture(comm, picture, halvings(picture.pixels(), picture.frame_side), name + "_frame.png");
  } catch (...) {
    if (comm.rank() == 0) drop_pictures(path);
    throw;
  }
}

void keep_pictures(const std::string& path) {
  constexpr bool is_durable = false;
  move_folder_into_place(temporary_name(pictures_path(path)), pictures_path(path), is_durable);
}

void drop_pictures(const std::string& path) noexcept {
  try {
    remove_all(temporary_name(pictures_path(path)));
  } catch (const std::exception&) {
    // What is left behind has a name that nobody reads.
  }
}

}  // namespace sidestream::io
