// An array whose elements are found by their keys.

import LayerKit

/// Objects with keys, in any order. Finding one by its index or its key, and appending, take constant time;
/// inserting and removing take time in proportion to what comes behind.
///
/// All keys differ, and none is nil; whoever adds an object that breaks this ends the program.
open class KeyedArray<T: KeyedObject> {
  /// In their order.
  public private(set) var rawArray: [T]
  private var places: [ExactKey: Int] = [:]

  /// Begins with these objects.
  public convenience init(objects: T...) { self.init(rawArray: objects) }

  /// Begins with these objects.
  public init(rawArray: [T]) {
    self.rawArray = rawArray
    number(from: 0)
  }

  // MARK: Finding

  /// The index of the object with this key.
  open func find(_ key: String) -> Int? { places[ExactKey(key)] }

  /// Whether there is one with this key.
  open func has(_ key: String) -> Bool { find(key) != nil }

  // MARK: Changing

  /// Adds objects at the end.
  open func append(_ objects: T...) { extend(objects) }

  /// Adds objects at the end.
  open func extend(_ objects: [T]) {
    rawArray += objects
    number(from: rawArray.count - objects.count)
  }

  /// Adds an object at a place.
  open func insert(_ object: T, atIndex: Int) {
    precondition((0...rawArray.count).contains(atIndex), "There is no place \(atIndex) in \(rawArray.count).")
    checkIsNew(object)
    rawArray.insert(object, at: atIndex)
    renumber(from: atIndex)
  }

  /// Takes the object at a place out.
  open func removeAtIndex(_ atIndex: Int) {
    let removed = rawArray.remove(at: atIndex)
    if let key = removed.key { places[ExactKey(key)] = nil }
    renumber(from: atIndex)
  }

  /// Takes everything out.
  open func clear() { reset([]) }

  /// Takes what the other one has.
  open func reset(_ other: KeyedArray<T>) { reset(other.rawArray) }

  /// Takes these objects.
  open func reset(_ rawArray: [T]) {
    self.rawArray = rawArray
    places = [:]
    number(from: 0)
  }

  // MARK: Places

  /// Of objects that are new.
  private func number(from start: Int) {
    for index in rawArray.indices.dropFirst(start) {
      places[checkIsNew(rawArray[index])] = index
    }
  }

  /// Of objects that moved.
  private func renumber(from start: Int) {
    for index in rawArray.indices.dropFirst(start) {
      guard let key = rawArray[index].key else { continue }
      places[ExactKey(key)] = index
    }
  }

  @discardableResult
  private func checkIsNew(_ object: T) -> ExactKey {
    guard let key = object.key else {
      preconditionFailure("An object in a KeyedArray needs a key, and this \(type(of: object)) has none.")
    }
    precondition(places[ExactKey(key)] == nil, "There is an object with the key \(key) already.")
    return ExactKey(key)
  }
}

extension KeyedArray: RandomAccessCollection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { rawArray.count }
  public subscript(i: Int) -> T { rawArray[i] }
}
