#include "tenon/compile/cpu/image.h"

#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/Endian.h>

#include <map>

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
  explicit Linker(const ELF64LEObjectFile& object) : object_(object) {}

  llvm::Expected<CodeImage> run(llvm::StringRef entry) {
    lay_out_code();
    if (auto failure = find_outside()) return failure;
    lay_out_constants();
    for (const SectionRef& section : object_.sections())
      if (const auto at = place_.find(section.getIndex()); at != place_.end())
        if (auto failure = copy(section, at->second)) return failure;
    write_jumps();
    if (auto failure = relocate()) return failure;
    if (auto failure = visit_symbols(entry)) return failure;
    for (auto& [name, outside] : outside_) {
      outside.at.push_back(outside.word);
      image_.symbols.push_back({name, std::move(outside.at)});
    }
    return std::move(image_);
  }

 private:
  static constexpr std::uint64_t jump_bytes = 8;
  struct Outside {
    std::uint64_t number;           // of its jump
    std::uint64_t word = 0;         // where its address is kept
    std::vector<std::uint64_t> at;  // other words that hold it
  };

  bool is_needed(const SectionRef& section) const {
    const llvm::object::ELFSectionRef elf(section);
    auto name = section.getName();
    if (!name) return llvm::consumeError(name.takeError()), false;
    return (elf.getFlags() & llvm::ELF::SHF_ALLOC) != 0 && *name != ".eh_frame";
  }
  static bool is_code(const SectionRef& section) { return section.isText(); }

  void lay_out(bool code) {
    for (const SectionRef& section : object_.sections())
      if (is_needed(section) && is_code(section) == code) {
        end_ = rounded_up(end_, section.getAlignment().value());
        place_.emplace(section.getIndex(), end_);
        end_ += section.getSize();
      }
  }
  void lay_out_code() { lay_out(true); }
  void lay_out_constants() {
    jumps_ = end_ = rounded_up(end_, jump_bytes);
    end_ += jump_bytes * outside_.size();
    image_.code_bytes = end_ = rounded_up(end_, CodeImage::page);
    for (auto& [name, outside] : outside_) outside.word = end_, end_ += sizeof(std::uint64_t);
    for (auto& [index, word] : inside_) word = end_, end_ += sizeof(std::uint64_t);
    lay_out(false);
    image_.bytes.resize(end_);
  }

  // f(relocation, symbol, section) for each word of a needed section that knows another place.
  template <class F>
  llvm::Error visit_relocations(F f) {
    for (const SectionRef& of : object_.sections()) {
      auto section = of.getRelocatedSection();
      if (!section) return section.takeError();
      if (*section == object_.section_end() || !is_needed(**section)) continue;
      for (const llvm::object::ELFRelocationRef relocation : of.relocations())
        if (auto failure = f(relocation, *relocation.getSymbol(), **section)) return failure;
    }
    return llvm::Error::success();
  }
  static bool is_by_word(std::uint64_t type) {
    return type == llvm::ELF::R_X86_64_GOTPCREL || type == llvm::ELF::R_X86_64_GOTPCRELX ||
           type == llvm::ELF::R_X86_64_REX_GOTPCRELX;
  }
  static std::uint32_t number_of(const SymbolRef& symbol) { return symbol.getRawDataRefImpl().d.b; }
  static llvm::Expected<bool> is_outside(const SymbolRef& symbol) {
    auto flags = symbol.getFlags();
    if (!flags) return flags.takeError();
    return (*flags & SymbolRef::SF_Undefined) != 0;
  }

  // What the code refers to outside, and what it wants the address of in a word.
  llvm::Error find_outside() {
    return visit_relocations([&](const auto& relocation, const SymbolRef& symbol, const SectionRef&) -> llvm::Error {
      auto outside = is_outside(symbol);
      if (!outside) return outside.takeError();
      auto name = symbol.getName();
      if (!name) return name.takeError();
      if (*outside)
        outside_.try_emplace(name->str(), Outside{outside_.size()});
      else if (is_by_word(relocation.getType()))
        inside_.try_emplace(number_of(symbol), 0);
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

  llvm::Expected<std::uint64_t> address_of(const SymbolRef& symbol) {
    auto section = symbol.getSection();
    if (!section) return section.takeError();
    auto value = symbol.getValue();
    if (!value) return value.takeError();
    const auto at = *section == object_.section_end() ? place_.end() : place_.find((*section)->getIndex());
    if (at == place_.end()) return broken("a symbol of no section");
    return at->second + *value;
  }

  llvm::Error relocate() {
    return visit_relocations(
        [&](const auto& relocation, const SymbolRef& symbol, const SectionRef& section) -> llvm::Error {
          auto addend = relocation.getAddend();
          if (!addend) return addend.takeError();
          const Fixup fixup{.type = relocation.getType(),
                            .at = place_.at(section.getIndex()) + relocation.getOffset(),
                            .addend = static_cast<std::uint64_t>(*addend)};
          auto outside = is_outside(symbol);
          if (!outside) return outside.takeError();
          if (*outside) return relocate(fixup, outside_.at(llvm::cantFail(symbol.getName()).str()));
          auto to = address_of(symbol);
          if (!to) return to.takeError();
          if (!is_by_word(fixup.type)) return relocate(fixup, *to);
          write32(fixup.at, inside_.at(number_of(symbol)) + fixup.addend - fixup.at);
          return llvm::Error::success();
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

  // Finds the entry, and writes down the addresses of symbols that are wanted in words.
  llvm::Error visit_symbols(llvm::StringRef entry) {
    for (const SymbolRef& symbol : object_.symbols()) {
      auto name = symbol.getName();
      if (!name) return name.takeError();
      const auto word = inside_.find(number_of(symbol));
      if (*name != entry && word == inside_.end()) continue;
      auto address = address_of(symbol);
      if (!address) return address.takeError();
      if (*name == entry) image_.entry = *address;
      if (word != inside_.end()) write64(word->second, *address), image_.relative.push_back(word->second);
    }
    return llvm::Error::success();
  }

  void write32(std::uint64_t at, std::uint64_t value) {
    llvm::support::endian::write32le(&image_.bytes[at], static_cast<std::uint32_t>(value));
  }
  void write64(std::uint64_t at, std::uint64_t value) { llvm::support::endian::write64le(&image_.bytes[at], value); }

  const ELF64LEObjectFile& object_;
  CodeImage image_;
  std::uint64_t end_ = 0, jumps_ = 0;
  std::map<std::uint64_t, std::uint64_t> place_;  // of a section, by its index
  std::map<std::string, Outside> outside_;
  std::map<std::uint32_t, std::uint64_t> inside_;  // by symbol: the word that holds its address
};

}  // namespace

llvm::Expected<CodeImage> image_of(llvm::MemoryBufferRef object, llvm::StringRef entry) {
  auto file = ELF64LEObjectFile::create(object);
  if (!file) return file.takeError();
  return Linker(*file).run(entry);
}

}  // namespace tenon::cpu
