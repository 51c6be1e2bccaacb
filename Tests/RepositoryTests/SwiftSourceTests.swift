// Tests of the tokenizer that the layering checks use.

import Testing

@Suite struct SwiftSourceTests {
  private func identifiers(_ text: String) -> [String] {
    SwiftSource(text).tokens().filter(\.isIdentifier).map(\.text)
  }

  @Test func commentsAreNotCode() {
    #expect(identifiers("a // b\nc /* d /* e */ f */ g") == ["a", "c", "g"])
  }

  @Test func stringsAreNotCodeButTheirInterpolationsAre() {
    #expect(identifiers(#"a("b \(c("d")) e \" f", g)"#) == ["a", "c", "g"])
    #expect(identifiers("a(#\"b \\(c) \" \\#(d) \"#) e") == ["a", "d", "e"])
    #expect(identifiers("a(\"\"\"\n b \" c\n  \\(d)\n \"\"\") e") == ["a", "d", "e"])
  }

  @Test func regexLiteralsAreNotCode() {
    #expect(identifiers(#"let a = /b"c/ ; d"#) == ["let", "a", "d"])
    #expect(identifiers(##"let a = #/b"/c/# ; d"##) == ["let", "a", "d"])
    #expect(identifiers("a / b / c") == ["a", "b", "c"])
  }

  @Test func blankedTextKeepsItsLinesAndLength() {
    let text = "a /* é\n */ b \"\"\"\n c\n \"\"\" // d\ne"
    let source = SwiftSource(text)
    #expect(source.code.utf8.count == text.utf8.count)
    #expect(source.tokens().map(\.line) == [1, 2, 5])
  }

  @Test func braceDepthDistinguishesFileScopeFromMembers() {
    let tokens = SwiftSource("struct A { struct B {} }\nstruct C {}").tokens()
    let depths = tokens.filter { $0.text == "struct" }.map(\.braceDepth)
    #expect(depths == [0, 1, 0])
  }
}
