// A vector of numbers.

public import Foundation

/// A vector of doubles, equal by value.
public final class VectorValue: NSObject, Codable, Sendable {
  /// The numbers.
  public let array: [Double]

  /// Creates a vector of these numbers.
  public init(_ array: [Double]) { self.array = array }

  public override func isEqual(_ object: Any?) -> Bool { (object as? VectorValue)?.array == array }

  public override var hash: Int { array.hashValue }
}
