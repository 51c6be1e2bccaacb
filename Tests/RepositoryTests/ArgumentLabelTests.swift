// The arguments of functions have labels from the third one on, and violations are detected.

import Testing

@Suite struct ArgumentLabelTests {
  @Test func everyDeclarationInSourcesHasLabelsAndFewArguments() throws {
    expectNone(ArgumentLabelCheck.violations(in: try .repository()))
  }

  @Test func aThirdArgumentWithoutALabelIsReportedWithItsLine() {
    #expect(
      violations("struct A {\n  func f(_ a: Int, _ b: Int, _ c: Int) {}\n}")
        == ["Sources/Engine/Disk/A.swift:2: The argument c of f has no label."])
    #expect(
      violations("struct A { init<T>(_ a: T, b: Int, _ c: Int, _ d: Int) {} }")
        == [
          "Sources/Engine/Disk/A.swift:1: The argument c of init has no label.",
          "Sources/Engine/Disk/A.swift:1: The argument d of init has no label.",
        ])
    #expect(violations("func f(_ a: Int, _ b: Int, c: Int, for d: Int) {}") == [])
  }

  @Test(arguments: ["(Int) -> Int", "@escaping Handler", "@autoclosure () -> Int", "(() -> Void)? = nil"])
  func aClosureNeedsNoLabel(type: String) {
    #expect(violations("func f(_ a: Int, _ b: Int, _ c: \(type)) {}") == [])
  }

  @Test func aFunctionWithSixArgumentsIsReported() {
    #expect(violations("func f(a: Int, b: Int, c: Int, d: Int, e: Int) {}") == [])
    #expect(
      violations("func f(a: Int, b: Int, c: Int, d: Int, e: Int, g: () -> Void) {}")
        == ["Sources/Engine/Disk/A.swift:1: f has 6 arguments, and at most 5 are allowed."])
  }

  @Test func argumentsThatAnInitialiserStoresDoNotCount() {
    let head = "struct A {\n  init?(a: Int, b: Int, c: Int, d: Int, e: Int, with f: Int) throws(E) {\n"
    #expect(violations(head + "    self.b = b\n    g = f\n  }\n}") == [])
    let found = ["Sources/Engine/Disk/A.swift:2: init has 6 arguments, and at most 5 are allowed."]
    #expect(violations(head + "    self.init(a, b, c, d, e, f)\n  }\n}") == found)
    #expect(violations(head + "    let g = f\n    h = b + c\n  }\n}") == found)
  }

  @Test(arguments: ["public", "open", "@objc public", "public static", "@MainActor(unsafe) override final"])
  func publicDeclarationsAndOverridesAreNotChecked(modifiers: String) {
    #expect(violations("\(modifiers) func f(_ a: Int, _ b: Int, _ c: Int) {}") == [])
  }

  @Test(arguments: ["package", "private static", "@discardableResult", "@available(*, noasync) package"])
  func allOtherDeclarationsAreChecked(modifiers: String) {
    let text = "public let x = g(1)\n\(modifiers) func f(_ a: Int, _ b: Int, _ c: Int) {}"
    #expect(violations(text).count == 1)
  }

  @Test func commasInsideTypesAndDefaultValuesSeparateNoArguments() {
    #expect(
      violations(
        "func f<T: P<A, B>>(_ a: [K: V<A, B>], _ b: (A, B, C, D, E) = (1, 2 << 3, 4), c: V<A, B>) {}") == [])
    #expect(violations("func < (_ a: Int, _ b: Int) -> Bool { f(1, 2, 3, 4, 5, 6) }") == [])
    #expect(violations("let a = A.init(1, 2, 3, 4, 5, 6)\nlet b = \"func f(_ a: I, _ b: I, _ c: I)\"") == [])
  }

  private func violations(_ text: String) -> [String] {
    let tree = RepositoryTree(["Sources/Engine/Disk/A.swift": text])
    return ArgumentLabelCheck.violations(in: tree).map(\.description)
  }
}
