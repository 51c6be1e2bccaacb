// The toolchain in the output of `swift --version`, which names the file of pins.

import Testing

@Suite struct ToolchainTests {
  @Test(arguments: [
    (
      "Swift version 6.3.1 (swift-6.3.1-RELEASE)\nTarget: x86_64-unknown-linux-gnu\n",
      "swift-6.3.1-x86_64.txt"
    ),
    (
      "swift-driver version: 1 Apple Swift version 6.2 (swiftlang-6.2.0.1)\nTarget: arm64-apple-macosx15.0\n",
      "swift-6.2-arm64.txt"
    ),
    (
      "Swift version 6.4-dev (LLVM 0123, Swift 4567)\nTarget: aarch64-unknown-linux-gnu",
      "swift-6.4-dev-aarch64.txt"
    ),
  ])
  func theFileOfPinsIsNamedAfterVersionAndArchitecture(output: String, file: String) {
    #expect(Toolchain(versionOutput: output)?.pinsFileName == file)
  }

  @Test(arguments: [
    "", "Swift version 6.3.1", "Target: x86_64-unknown-linux-gnu", "Swift version ../x\nTarget: /",
  ])
  func anotherOutputIsNoToolchain(output: String) {
    #expect(Toolchain(versionOutput: output) == nil)
  }
}
