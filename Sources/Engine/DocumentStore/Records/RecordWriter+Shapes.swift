// Finds the shape of a map that does not have the expected shape.

extension RecordWriter {
  /// Ends a map with other names than expected, with a name twice, or without a shape.
  mutating func endUnexpected(_ map: OpenMap) {
    let names = names(of: map)
    if let shape = knownShape(map, names), putInOrder(map, names.count) {
      endMap(map, with: shape)
      return
    }
    endSorted(map, names)
  }

  /// The names in the order of the parts.
  private func names(of map: OpenMap) -> [String] {
    var names: [String] = []
    names.reserveCapacity(parts.count - map.firstPart)
    for index in map.firstPart..<parts.count {
      let slot = Int(parts[index].slot)
      names.append(slot < 0 ? otherNames[~slot] : map.shape?.names[slot] ?? "")
    }
    return names
  }

  /// The known shape with these names. The parts get its slots.
  private mutating func knownShape(_ map: OpenMap, _ names: [String]) -> ShapeSlots? {
    guard (1...Shape.namesMax).contains(names.count) else { return nil }
    let keys = names.map { FieldNameKey($0) }
    let hash = keys.reduce(0) { $0 &+ $1.hash }
    guard let shape = snapshot.candidate(count: names.count, hash: hash) else { return nil }
    var slots: [Int] = []
    slots.reserveCapacity(names.count)
    for (name, key) in zip(names, keys) {
      guard let slot = shape.slot(of: name, key) else { return nil }
      slots.append(slot)
    }
    for (index, slot) in slots.enumerated() { parts[map.firstPart + index].slot = Int32(slot) }
    return shape
  }

  /// Sorts the fields by name. The map gets a shape if the dictionary has one or admits it now.
  private mutating func endSorted(_ map: OpenMap, _ names: [String]) {
    var sorted = Array(names.indices)
    // The sort is stable, so among fields with one name the last one stays last.
    sorted.sort { names[$0].precedesInUTF8(names[$1]) }
    var unique: [Int] = []
    unique.reserveCapacity(sorted.count)
    for index in sorted {
      if let last = unique.last, names[last].isSameUTF8(as: names[index]) {
        unique.removeLast()
        noteSizeUnknown()
      }
      unique.append(index)
    }
    if unique.count < sorted.count { keepParts(Set(unique), map) }
    // The parts that are kept stay in the order of arrival.
    let kept = unique.count < sorted.count ? unique.sorted() : Array(names.indices)
    let places = Dictionary(uniqueKeysWithValues: kept.enumerated().map { ($1, $0) })
    let sortedNames = unique.map { names[$0] }
    for (slot, index) in unique.enumerated() {
      guard let place = places[index] else { continue }
      parts[map.firstPart + place].slot = Int32(slot)
    }
    if let shape = shape(of: sortedNames), putInOrder(map, unique.count) {
      endMap(map, with: shape)
    } else {
      _ = putInOrder(map, unique.count)
      endNamed(map, sortedNames)
    }
  }

  /// Removes the parts with other indices, and their values.
  private mutating func keepParts(_ kept: Set<Int>, _ map: OpenMap) {
    let count = parts.count - map.firstPart
    let end = bytes.count
    let lengths = (0..<count).map { length($0, from: map.firstPart, count: count, end: end) }
    var next = 0
    var start = map.start
    for index in 0..<count {
      guard kept.contains(index) else {
        bytes.remove(from: start, to: start + lengths[index])
        continue
      }
      parts[map.firstPart + next] = RecordParts.Part(slot: 0, start: UInt32(start))
      start += lengths[index]
      next += 1
    }
    parts.truncate(to: map.firstPart + next)
  }

  /// The shape with these sorted names. May admit it.
  mutating func shape(of sortedNames: [String]) -> ShapeSlots? {
    guard let shapes, let id = shapes.id(of: sortedNames) else { return nil }
    if snapshot.slots(id) == nil { snapshot = shapes.snapshot }
    return snapshot.slots(id)
  }

  /// Ends a map that contains its names. `order` is empty if the parts are in order.
  mutating func endNamed(_ map: OpenMap, _ names: [String]) {
    let count = names.count
    let end = bytes.count
    func index(_ place: Int) -> Int { order.count > 0 ? Int(order[place].slot) : place }
    // The offsets of all entries but the first, from the end of the table.
    var offsets: [Int] = []
    offsets.reserveCapacity(count)
    var offset = 0
    for place in 0..<count {
      if place > 0 { offsets.append(offset) }
      let name = names[place].utf8.count
      offset +=
        Self.varintBytes(name) + name + length(index(place), from: map.firstPart, count: count, end: end)
    }
    let largest = offsets.last ?? 0
    let code = largest > 0xFFFF ? 2 : largest > 0xFF ? 1 : 0
    bytes.append(varint: code)
    bytes.append(varint: count)
    let table = bytes.count
    bytes.appendGap(offsets.count << code)
    for (place, offset) in offsets.enumerated() {
      bytes.set(offset, at: table + place << code, width: 1 << code)
    }
    for (place, name) in names.enumerated() {
      let nameBytes = name.utf8.count
      bytes.append(varint: nameBytes)
      bytes.append(utf8: name)
      let length = length(index(place), from: map.firstPart, count: count, end: end)
      bytes.prepare(length)
      bytes.appendPrepared(copyOf: Int(parts[map.firstPart + index(place)].start), bytes: length)
      noteName(bytes: nameBytes, isUserName: FieldLimits.isUserName(name))
    }
    bytes.remove(from: map.start, to: end)
    close(map)
  }
}
