// A link by LLVM's LTO library, whose modules are wanted, not its code; its errors are exceptions.
#pragma once

#include "module.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/LTO/LTO.h"
#include "llvm/Support/raw_ostream.h"

namespace burnish {

// A link by LTO, with a text for what it failed to do, such as "cannot link by ThinLTO".
class LtoLink {
public:
  explicit LtoLink(std::string failed) : failed(std::move(failed)) {}

  // Keeps errors that the library reports as diagnostics for `run`.
  void listen(llvm::lto::Config &config) {
    config.DiagHandler = [this](const llvm::DiagnosticInfo &diagnostic) {
      if (diagnostic.getSeverity() != llvm::DS_Error)
        return;
      llvm::raw_string_ostream stream(problem);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      diagnostic.print(printer);
    };
  }

  // Throws InputError if there is an error.
  void check(llvm::Error error) const {
    if (error)
      fail(toString(std::move(error)));
  }

  // Returns a value. Throws InputError if there is an error in its place.
  template <class T> T taken(llvm::Expected<T> value) const {
    if (!value)
      fail(toString(value.takeError()));
    return std::move(*value);
  }

  // Links up to the hooks of the configuration, which keep the modules. Throws InputError if the library fails.
  void run(llvm::lto::LTO &link) const {
    check(link.run([](size_t, const llvm::Twine &) -> llvm::Expected<std::unique_ptr<llvm::CachedFileStream>> {
      return llvm::createStringError("no code is wanted");
    }));
    if (!problem.empty())
      fail(problem);
  }

  [[noreturn]] void fail(const std::string &why) const { throw InputError(failed + ": " + why); }

private:
  std::string failed, problem;
};

} // namespace burnish
