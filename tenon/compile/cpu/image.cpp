#include "tenon/compile/cpu/image.h"

#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/Endian.h>

#include <map>
#include <memory>
#include <optional>

namespace tenon::cpu {
namespace {

using llvm::object::ELF64LEObjectFile;
using llvm::object::SectionRef;
using llvm::object::SymbolRef;

std::uint64_t rounded_up(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

llvm::Error broken(const llvm::Twine& what) {
  return llvm::createStringError("an object of the code generator: " + what);
}

// Code lies first, then jumps to functions outside; on the next page begin the addresses of these, then constants.
class Linker {
 public:
  explicit Linker(std::span<const std::unique_ptr<ELF64LEObjectFile>> objects) {
    for (const auto& object : objects) objects_.push_back({.file = object.get()});
  }

  llvm::Expected<CodeImage> run(const Symbols& symbols) {
    lay_out(true);
    if (auto failure = find_defined()) return failure;
    if (auto failure = find_outside()) return failure;
    lay_out_constants();
    for (const Object& object : objects_)
      for (const SectionRef& section : object.file->sections())
        if (const auto at = object.place.find(section.getIndex()); at != object.place.end())
          if (auto failure = copy(section, at->second)) return failure;
    write_jumps();
    if (auto failure = relocate()) return failure;
    if (auto failure = fill_words()) return failure;
    std::optional<std::uint64_t> entry;
    for (const auto& [name, place] : {std::pair(symbols.entry, &entry), std::pair(symbols.sizes, &image_.sizes),
                                      std::pair(symbols.numbers, &image_.numbers)})
      if (const auto found = defined_.find(name); found != defined_.end()) {
        auto address = address_of(found->second);
        if (!address) return address.takeError();
        *place = *address;
      }
    if (!entry) return broken("no entry");
    image_.entry = *entry;
    for (auto& [name, outside] : outside_) {
      outside.at.push_back(outside.word);
      image_.symbols.push_back({name, std::move(outside.at)});
    }
    return std::move(image_);
  }

 private:
  static constexpr std::uint64_t jump_bytes = 8;
  struct Object {
    const ELF64LEObjectFile* file;
    std::map<std::uint64_t, std::uint64_t> place = {};  // of a section, by its index
  };
  // A symbol where it is defined.
  struct Place {
    std::size_t object;
    SymbolRef symbol;
    bool operator<(const Place& other) const {
      return std::pair(object, number_of(symbol)) < std::pair(other.object, number_of(other.symbol));
    }
  };
  struct Outside {
    std::uint64_t number;           // of its jump
    std::uint64_t word = 0;         // where its address is kept
    std::vector<std::uint64_t> at;  // other words that hold it
  };

  static bool is_needed(const SectionRef& section) {
    const llvm::object::ELFSectionRef elf(section);
    auto name = section.getName();
    if (!name) return llvm::consumeError(name.takeError()), false;
    return (elf.getFlags() & llvm::ELF::SHF_ALLOC) != 0 && *name != ".eh_frame";
  }

  void lay_out(bool code) {
    for (Object& object : objects_)
      for (const SectionRef& section : object.file->sections())
        if (is_needed(section) && section.isText() == code) {
          end_ = rounded_up(end_, section.getAlignment().value());
          object.place.emplace(section.getIndex(), end_);
          end_ += section.getSize();
        }
  }
  void lay_out_constants() {
    jumps_ = end_ = rounded_up(end_, jump_bytes);
    end_ += jump_bytes * outside_.size();
    image_.code_bytes = end_ = rounded_up(end_, CodeImage::page);
    for (auto& [name, outside] : outside_) outside.word = end_, end_ += sizeof(std::uint64_t);
    for (auto& [symbol, word] : inside_) word = end_, end_ += sizeof(std::uint64_t);
    lay_out(false);
    image_.bytes.resize(end_);
  }

  // f(relocation, symbol, section, object) for each word of a needed section that knows another place.
  template <class F>
  llvm::Error visit_relocations(F f) {
    for (std::size_t object = 0; object < objects_.size(); ++object)
      for (const SectionRef& of : objects_[object].file->sections()) {
        auto section = of.getRelocatedSection();
        if (!section) return section.takeError();
        if (*section == objects_[object].file->section_end() || !is_needed(**section)) continue;
        for (const llvm::object::ELFRelocationRef relocation : of.relocations())
          if (auto failure = f(relocation, *relocation.getSymbol(), **section, object)) return failure;
      }
    return llvm::Error::success();
  }
  static bool is_by_word(std::uint64_t type) {
    return type == llvm::ELF::R_X86_64_GOTPCREL || type == llvm::ELF::R_X86_64_GOTPCRELX ||
           type == llvm::ELF::R_X86_64_REX_GOTPCRELX;
  }
  static std::uint32_t number_of(const SymbolRef& symbol) { return symbol.getRawDataRefImpl().d.b; }

  // What other objects may refer to.
  llvm::Error find_defined() {
    for (std::size_t object = 0; object < objects_.size(); ++object)
      for (const SymbolRef& symbol : objects_[object].file->symbols()) {
        auto flags = symbol.getFlags();
        if (!flags) return flags.takeError();
        if ((*flags & SymbolRef::SF_Global) == 0 || (*flags & SymbolRef::SF_Undefined) != 0) continue;
        auto name = symbol.getName();
        if (!name) return name.takeError();
        defined_.try_emplace(name->str(), Place{object, symbol});
      }
    return llvm::Error::success();
  }
  // Where a symbol that an object refers to is defined; nothing where it lies outside.
  llvm::Expected<std::optional<Place>> place_of(const SymbolRef& symbol, std::size_t object) {
    auto flags = symbol.getFlags();
    if (!flags) return flags.takeError();
    if ((*flags & SymbolRef::SF_Undefined) == 0) return Place{object, symbol};
    auto name = symbol.getName();
    if (!name) return name.takeError();
    const auto found = defined_.find(name->str());
    return found == defined_.end() ? std::nullopt : std::optional(found->second);
  }

  // What the code refers to outside, and what it wants the address of in a word.
  llvm::Error find_outside() {
    return visit_relocations(
        [&](const auto& relocation, const SymbolRef& symbol, const SectionRef&, std::size_t object) -> llvm::Error {
          auto place = place_of(symbol, object);
          if (!place) return place.takeError();
          auto name = symbol.getName();
          if (!name) return name.takeError();
          if (!*place)
            outside_.try_emplace(name->str(), Outside{outside_.size()});
          else if (is_by_word(relocation.getType()))
            inside_.try_emplace(**place, 0);
          return llvm::Error::success();
        });
  }

  llvm::Error copy(const SectionRef& section, std::uint64_t to) {
    if (section.isBSS() || section.isVirtual()) return llvm::Error::success();
    auto contents = section.getContents();
    if (!contents) return contents.takeError();
    std::copy(contents->begin(), contents->end(), image_.bytes.begin() + static_cast<std::ptrdiff_t>(to));
    return llvm::Error::success();
  }

  // jmp *[rip + distance]
  void write_jumps() {
    for (const auto& [name, outside] : outside_) {
      const std::uint64_t at = jump_of(outside);
      image_.bytes[at] = '\xff';
      image_.bytes[at + 1] = '\x25';
      write32(at + 2, outside.word - (at + 6));
    }
  }
  std::uint64_t jump_of(const Outside& outside) const { return jumps_ + jump_bytes * outside.number; }

  llvm::Expected<std::uint64_t> address_of(const Place& of) {
    auto section = of.symbol.getSection();
    if (!section) return section.takeError();
    auto value = of.symbol.getValue();
    if (!value) return value.takeError();
    const Object& object = objects_[of.object];
    const auto at =
        *section == object.file->section_end() ? object.place.end() : object.place.find((*section)->getIndex());
    if (at == object.place.end()) return broken("a symbol of no section");
    return at->second + *value;
  }

  llvm::Error relocate() {
    return visit_relocations([&](const auto& relocation, const SymbolRef& symbol, const SectionRef& section,
                                 std::size_t object) -> llvm::Error {
      auto addend = relocation.getAddend();
      if (!addend) return addend.takeError();
      const Fixup fixup{.type = relocation.getType(),
                        .at = objects_[object].place.at(section.getIndex()) + relocation.getOffset(),
                        .addend = static_cast<std::uint64_t>(*addend)};
      auto place = place_of(symbol, object);
      if (!place) return place.takeError();
      if (!*place) return relocate(fixup, outside_.at(llvm::cantFail(symbol.getName()).str()));
      if (is_by_word(fixup.type))
        return write32(fixup.at, inside_.at(**place) + fixup.addend - fixup.at), llvm::Error::success();
      auto to = address_of(**place);
      if (!to) return to.takeError();
      return relocate(fixup, *to);
    });
  }
  struct Fixup {
    std::uint64_t type, at, addend;
  };
  llvm::Error relocate(const Fixup& f, Outside& to) {
    if (is_by_word(f.type))
      write32(f.at, to.word + f.addend - f.at);
    else if (f.type == llvm::ELF::R_X86_64_PLT32)
      write32(f.at, jump_of(to) + f.addend - f.at);
    else if (f.type == llvm::ELF::R_X86_64_64 && f.addend == 0)
      to.at.push_back(f.at);
    else
      return broken("a reference of type " + llvm::Twine(f.type) + " to what lies outside");
    return llvm::Error::success();
  }
  llvm::Error relocate(const Fixup& f, std::uint64_t to) {
    if (f.type == llvm::ELF::R_X86_64_64)
      write64(f.at, to + f.addend), image_.relative.push_back(f.at);
    else if (f.type == llvm::ELF::R_X86_64_PLT32 || f.type == llvm::ELF::R_X86_64_PC32)
      write32(f.at, to + f.addend - f.at);
    else if (f.type == llvm::ELF::R_X86_64_PC64)
      write64(f.at, to + f.addend - f.at);
    else
      return broken("a reference of type " + llvm::Twine(f.type));
    return llvm::Error::success();
  }

  // The addresses of symbols that are wanted in words.
  llvm::Error fill_words() {
    for (const auto& [symbol, word] : inside_) {
      auto address = address_of(symbol);
      if (!address) return address.takeError();
      write64(word, *address), image_.relative.push_back(word);
    }
    return llvm::Error::success();
  }

  void write32(std::uint64_t at, std::uint64_t value) {
    llvm::support::endian::write32le(&image_.bytes[at], static_cast<std::uint32_t>(value));
  }
  void write64(std::uint64_t at, std::uint64_t value) { llvm::support::endian::write64le(&image_.bytes[at], value); }

  std::vector<Object> objects_;
  CodeImage image_;
  std::uint64_t end_ = 0, jumps_ = 0;
  std::map<std::string, Place> defined_;  // in one of the objects, for all
  std::map<std::string, Outside> outside_;
  std::map<Place, std::uint64_t> inside_;  // the word that holds a symbol's address
};

}  // namespace

llvm::Expected<CodeImage> image_of(std::span<const llvm::MemoryBufferRef> objects, const Symbols& symbols) {
  std::vector<std::unique_ptr<ELF64LEObjectFile>> files;
  for (const llvm::MemoryBufferRef& object : objects) {
    auto file = ELF64LEObjectFile::create(object);
    if (!file) return file.takeError();
    files.push_back(std::make_unique<ELF64LEObjectFile>(std::move(*file)));
  }
  return Linker(files).run(symbols);
}

}  // namespace tenon::cpu
