#include "tools/json_line.h"

#include "tools/record_printer.h"

namespace cistern::tool {

JsonLine& JsonLine::Raw(std::string_view name, std::string_view json) {
  members_ += members_.empty() ? "{\"" : ",\"";
  members_ += name;
  members_ += "\":";
  members_ += json;
  return *this;
}

JsonLine& JsonLine::Text(std::string_view name, std::string_view value) {
  std::string json;
  AppendJsonString(value, &json);
  return Raw(name, json);
}

JsonLine& JsonLine::TextOrNull(std::string_view name, const std::optional<std::string>& value) {
  return value ? Text(name, *value) : Raw(name, "null");
}

JsonLine& JsonLine::Texts(std::string_view name, const std::vector<std::string>& values) {
  std::vector<std::string> texts;
  for (const std::string& value : values) AppendJsonString(value, &texts.emplace_back());
  return Objects(name, texts);
}

JsonLine& JsonLine::Truth(std::string_view name, bool value) {
  return Raw(name, value ? "true" : "false");
}

JsonLine& JsonLine::Objects(std::string_view name, const std::vector<std::string>& objects) {
  std::string json = "[";
  for (const std::string& object : objects) {
    if (json.size() > 1) json += ',';
    json += object;
  }
  return Raw(name, json + "]");
}

}  // namespace cistern::tool
