// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "two-phones",
  platforms: [.macOS(.v15)],
  dependencies: [
    // In your own app, use the path of your Dugout checkout. Only the server needs the trait Server. With TLS
    // in addition, the example shares a build with the tests of Dugout.
    .package(name: "Dugout", path: "../../..", traits: ["Server", "TLS"])
  ],
  targets: [
    .executableTarget(
      name: "two-phones",
      dependencies: [
        .product(name: "FirebaseFirestore", package: "Dugout"),
        .product(name: "DugoutServer", package: "Dugout"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
