// The sources use symbols of one platform only where they are compiled for it.

import Foundation
import Testing

@Suite struct PlatformTests {
  @Test func noSourceUsesASymbolThatOneOfItsPlatformsDoesNotHave() throws {
    let files = try RepositoryTree.cSources()
    #expect(files.count > 10)
    expectNone(PlatformCheck.violations(in: try .repository(), c: files))
  }

  @Test func thePageHasTheVersionsOfTheManifest() throws {
    let tree = try RepositoryTree.repository()
    let manifest = try #require(tree.texts["Package.swift"])
    let page = try #require(tree.texts["docs/guides/platforms.md"])
    let versions = try #require(manifest.firstMatch(of: #/\n  platforms: \[(.+?)\]/#)).1
    let declared = versions.matches(of: #/\.(\w+)\(\.v(\d+)\)/#)
    #expect(declared.count == 5)
    for platform in declared {
      let row = page.split(separator: "\n").first { $0.hasPrefix("| \(platform.1)") }
      #expect(row?.contains("| \(platform.2) |") == true, "\(platform.1)")
    }
  }

  @Test func everyLibraryHasItsDocumentationOnTheIndex() throws {
    let file = RepositoryTree.root.appendingPathComponent(".spi.yml")
    let listed = try String(contentsOf: file, encoding: .utf8).matches(of: #/- (\w+)\n/#).map { String($0.1) }
    let manifest = try #require(try RepositoryTree.repository().texts["Package.swift"])
    let libraries = manifest.matches(of: #/\.library\(name: "(\w+)"/#).map { String($0.1) }
    #expect(libraries.count > 15)
    #expect(listed.sorted() == libraries.sorted())
  }

  @Test func everyExemptFileStillNamesAPath() throws {
    let tree = try RepositoryTree.repository()
    for path in PlatformCheck.pathExemptions.keys {
      #expect(tree.texts[path]?.contains(#/"\/(proc|sys)\//#) == true, "\(path)")
    }
  }

  @Test(arguments: [
    "fdatasync(1)", "epoll_create1(0)", "let flags = O_TMPFILE | O_RDWR", "_ = eventfd(0, EFD_CLOEXEC)",
    "renameat2(1, a, 1, b, 0)", "prctl(PR_SET_NAME, 1)", "gettid()", "sync_file_range(1, 0, 0, 0)",
    "fallocate(1, 0, 0, 9)", "posix_fadvise(1, 0, 0, POSIX_FADV_RANDOM)", "accept4(1, nil, nil, 0)",
    "memfd_create(\"a\", 0)", "getrandom(p, 1, 0)", "signalfd(-1, s, 0)", "inotify_init1(0)",
    "mmap(nil, 1, 1, MAP_POPULATE, 1, 0)", "socket(1, SOCK_STREAM | SOCK_CLOEXEC, 0)",
    "syscall(Int(SYS_gettid))", "let time = status.st_mtim", "pthread_condattr_setclock(a, CLOCK_MONOTONIC)",
  ])
  func aSymbolOfLinuxIsReported(line: String) {
    #expect(violations(line).contains { $0.contains("does not exist on Darwin.") })
    #expect(violations("#if os(Linux)\n\(line)\n#endif") == [])
    #expect(violations("#if canImport(Darwin)\nother()\n#else\n\(line)\n#endif") == [])
    #expect(violations("#if !canImport(Darwin)\n\(line)\n#endif") == [])
    #expect(violations("#if os(Linux)\nother()\n#else\n\(line)\n#endif") != [])
    #expect(violations("// \(line)") == [])
  }

  @Test func aSymbolOfTheGNULibraryIsReportedOnLinux() {
    let name = "malloc_trim(0)"
    #expect(violations("#if canImport(Glibc)\n\(name)\n#endif") == [])
    #expect(
      violations("#if os(Linux)\n\(name)\n#endif")
        == ["Sources/A/A.swift:2: It uses malloc_trim, which does not exist on Musl."])
    #expect(
      violations("#if canImport(Darwin)\n#elseif canImport(Musl)\n#else\n\(name)\n#endif")
        == ["Sources/A/A.swift:4: It uses malloc_trim, which does not exist on Android."])
  }

  @Test func aSymbolOfDarwinIsReported() {
    let line = "_ = fcntl(1, F_FULLFSYNC)"
    #expect(violations(line).map { $0.contains("Android, Glibc, Musl") } == [true])
    #expect(violations("#if canImport(Darwin) && !DEBUG\n\(line)\n#endif") == [])
    #expect(violations("#if os(macOS) || os(iOS)\n\(line)\n#endif") == [])
    #expect(violations("#if canImport(Darwin) || canImport(Musl)\n\(line)\n#endif").count == 1)
  }

  @Test func anImportOfACLibraryIsReported() {
    #expect(violations("import Glibc").count == 1)
    #expect(violations("#if canImport(Glibc)\nimport Glibc\n#endif") == [])
    #expect(violations("#if canImport(Darwin)\nimport Darwin\n#else\nimport Glibc\n#endif").count == 1)
  }

  /// `UTF8Span` came with macOS 26.
  @Test func aTypeThatIsNewerThanTheMinimumVersionsIsReported() {
    #expect(violations("let text = UTF8Span(a)").map { $0.contains("Darwin") } == [true])
    #expect(violations("#if !canImport(Darwin)\nlet text = UTF8Span(a)\n#endif") == [])
  }

  @Test func aPathOfLinuxIsReported() {
    #expect(violations("read(\"/proc/self/exe\")").count == 1)
    #expect(violations("#if os(Linux)\nread(\"/sys/fs/cgroup\")\n#endif") == [])
    #expect(violations("read(\"/process\")") == [])
  }

  @Test func membersAndDeclarationsOfOurOwnAreIgnored() {
    #expect(violations("let sync = DurabilityReport.Sync.fdatasync\nenum A { case fdatasync }") == [])
    #expect(violations("var splice = Splice()\nsplice.append(1)") == [])
  }

  @Test func headersAndSymbolsInCAreChecked() {
    func found(_ text: String) -> [String] {
      PlatformCheck.violations(in: RepositoryTree([:]), c: ["Sources/A/a.c": text]).map(\.sentence)
    }
    #expect(
      found("#include <sys/vfs.h>\n") == ["It uses the header sys/vfs.h, which does not exist on Darwin."])
    #expect(found("#if defined(__linux__) && !defined(X)\n#include <sys/vfs.h>\n#endif\n") == [])
    #expect(found("#ifdef F_OFD_SETLK\nint a = F_OFD_GETLK;\n#endif\n") == [])
    #expect(found("int a = F_OFD_GETLK;\n").count == 1)
    #expect(found("#if defined(__linux__)\n#else\nsync_file_range(1, 0, 0, 0);\n#endif\n").count == 1)
  }

  private func violations(_ text: String) -> [String] {
    let texts = ["Sources/A/A.swift": "\(text)\n// import Libc"]
    return PlatformCheck.violations(in: RepositoryTree(texts)).map(\.description)
  }
}
