// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "backend",
  platforms: [.macOS(.v15)],
  dependencies: [
    // In your own app, use the path of your Dugout checkout. Clients need no trait.
    .package(name: "Dugout", path: "../../..", traits: ["Server", "TLS"])
  ],
  targets: [
    .executableTarget(
      name: "backend",
      dependencies: [
        .product(name: "Authority", package: "Dugout"),
        .product(name: "DugoutServer", package: "Dugout"),
        .product(name: "FirebaseFirestore", package: "Dugout"),
      ]),
    .executableTarget(
      name: "notes-client",
      dependencies: [
        .product(name: "FirebaseFirestore", package: "Dugout"),
        .product(name: "FirestoreRemote", package: "Dugout"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
