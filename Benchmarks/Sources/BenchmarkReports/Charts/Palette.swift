// The colours of charts and pages, for light and dark backgrounds.

package enum Palette {
  package static let colors: [(name: String, light: String, dark: String)] = [
    ("ground", "#fcfcfb", "#14181d"), ("ink", "#1c2430", "#e8ecf0"), ("quiet", "#5c6773", "#9ca7b4"),
    ("line", "#dfe3e8", "#2b333c"), ("ours", "#0e7c66", "#3fc9a8"), ("peer", "#aab4c0", "#5f6b78"),
    ("goal", "#b4530a", "#f0953f"), ("limit", "#5b6472", "#a3adb8"), ("better", "#0e7c66", "#3fc9a8"),
    ("worse", "#b4530a", "#f0953f"), ("even", "#8a94a1", "#77838f"), ("c1", "#3566b0", "#7aa5ee"),
    ("c2", "#9255a8", "#c58fe0"), ("c3", "#8a6800", "#dfb648"), ("c4", "#b8475a", "#ee8797"),
    ("c5", "#5f7d2e", "#a5c76b"), ("c6", "#2f7a99", "#7cc6e6"),
  ]

  /// Rules for the classes of an image, with the colours themselves, so that the image needs no page.
  static var standaloneRules: String {
    let light = colors.map { rules($0.name, $0.light) }.joined()
    let dark = colors.map { rules($0.name, $0.dark) }.joined()
    return "\(light)@media(prefers-color-scheme:dark){\(dark)}"
  }

  /// Rules for a page: the colours as variables, and the classes of images.
  static var pageRules: String {
    let light = colors.map { "--\($0.name):\($0.light);" }.joined()
    let dark = colors.map { "--\($0.name):\($0.dark);" }.joined()
    return ":root{\(light)}@media(prefers-color-scheme:dark){:root{\(dark)}}"
      + colors.map { rules($0.name, "var(--\($0.name))") }.joined()
  }

  private static func rules(_ name: String, _ color: String) -> String {
    ".f-\(name){fill:\(color)}.s-\(name){stroke:\(color)}"
  }
}
