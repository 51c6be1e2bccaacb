// A list with insertion, removal, search and ranks in logarithmic time.
//
// A treap stored in an array. Its in-order sequence is the list, and each node stores the size of its
// subtree. Each node has a random priority that is not smaller than its children's priorities. The priorities
// keep the tree shallow. Nodes never move in the array, so an index is a valid handle as long as the element
// is in the list.
//
// A copy of the list shares the array. The first change of either list copies the array.
//
// The type is inlinable, so that each module can specialize it for its own elements.

public struct RankTree<Element> {
  public typealias Handle = Int32

  @inlinable static var none: Handle { -1 }

  @usableFromInline struct Node {
    @usableFromInline var element: Element?
    @usableFromInline var parent = none
    @usableFromInline var left = none
    @usableFromInline var right = none
    @usableFromInline var count: Int32 = 1
    @usableFromInline var priority: UInt32

    @inlinable init(element: Element?, priority: UInt32) {
      self.element = element
      self.priority = priority
    }
  }

  @usableFromInline var nodes: [Node] = []
  @usableFromInline var vacant: [Handle] = []
  @usableFromInline var root = none
  @usableFromInline var rng: UInt32 = 0x9E37_79B9

  @inlinable public init() {}

  /// Creates a list in linear time. Each element is appended at the right spine, above nodes with smaller
  /// priorities. The handle of each element is its index in `elements`.
  @inlinable public init(_ elements: [Element]) {
    nodes.reserveCapacity(elements.count)
    // The right spine from the root down. When a node leaves the spine, its subtree is complete and can be
    // counted.
    var end: [Handle] = []
    for element in elements {
      let handle = make(element)
      var below = Self.none
      while let last = end.last, nodes[Int(last)].priority < nodes[Int(handle)].priority {
        countBelow(last)
        below = end.removeLast()
      }
      nodes[Int(handle)].left = below
      if below != Self.none { nodes[Int(below)].parent = handle }
      if let parent = end.last {
        nodes[Int(parent)].right = handle
        nodes[Int(handle)].parent = parent
      } else {
        root = handle
      }
      end.append(handle)
    }
    while let last = end.popLast() { countBelow(last) }
  }

  @inlinable mutating func countBelow(_ node: Handle) {
    nodes[Int(node)].count = Int32(
      count(of: nodes[Int(node)].left) + count(of: nodes[Int(node)].right) + 1)
  }

  @inlinable public var count: Int { count(of: root) }

  @inlinable public func element(_ handle: Handle) -> Element {
    guard let element = nodes[Int(handle)].element else { preconditionFailure("a handle of no element") }
    return element
  }

  @inlinable public mutating func replace(_ handle: Handle, with element: Element) {
    nodes[Int(handle)].element = element
  }

  @inlinable func count(of node: Handle) -> Int { node == Self.none ? 0 : Int(nodes[Int(node)].count) }

  // MARK: Finding

  @inlinable public func handle(at rank: Int) -> Handle {
    precondition((0..<count).contains(rank), "there is no element \(rank) of \(count)")
    var (node, rest) = (root, rank)
    while true {
      let before = count(of: nodes[Int(node)].left)
      if rest == before { return node }
      if rest < before {
        node = nodes[Int(node)].left
      } else {
        rest -= before + 1
        node = nodes[Int(node)].right
      }
    }
  }

  @inlinable public func rank(of handle: Handle) -> Int {
    var rank = count(of: nodes[Int(handle)].left)
    var node = handle
    while nodes[Int(node)].parent != Self.none {
      let parent = nodes[Int(node)].parent
      if nodes[Int(parent)].right == node { rank += count(of: nodes[Int(parent)].left) + 1 }
      node = parent
    }
    return rank
  }

  /// Returns the number of elements before the first element that satisfies `isAfter`. All elements after
  /// the first must satisfy `isAfter`, too.
  @inlinable public func partition(by isAfter: (Element) throws -> Bool) rethrows -> Int {
    var (node, rank) = (root, 0)
    while node != Self.none {
      if try isAfter(element(node)) {
        node = nodes[Int(node)].left
      } else {
        rank += count(of: nodes[Int(node)].left) + 1
        node = nodes[Int(node)].right
      }
    }
    return rank
  }

  /// Calls `body` for each element in order.
  @inlinable public func forEach(_ body: (Element) throws -> Void) rethrows {
    var node = root
    var waiting: [Handle] = []
    while node != Self.none || !waiting.isEmpty {
      while node != Self.none {
        waiting.append(node)
        node = nodes[Int(node)].left
      }
      let next = waiting.removeLast()
      try body(element(next))
      node = nodes[Int(next)].right
    }
  }

  // MARK: Changing

  @discardableResult
  @inlinable public mutating func insert(_ element: Element, at rank: Int) -> Handle {
    precondition((0...count).contains(rank), "there is no place \(rank) of \(count)")
    let handle = make(element)
    var (node, rest) = (root, rank)
    guard node != Self.none else {
      root = handle
      return handle
    }
    while true {
      nodes[Int(node)].count += 1
      let before = count(of: nodes[Int(node)].left)
      let isLeft = rest <= before
      if !isLeft { rest -= before + 1 }
      let next = isLeft ? nodes[Int(node)].left : nodes[Int(node)].right
      guard next == Self.none else {
        node = next
        continue
      }
      if isLeft { nodes[Int(node)].left = handle } else { nodes[Int(node)].right = handle }
      nodes[Int(handle)].parent = node
      break
    }
    while nodes[Int(handle)].parent != Self.none,
      nodes[Int(handle)].priority > nodes[Int(nodes[Int(handle)].parent)].priority
    {
      rotateUp(handle)
    }
    return handle
  }

  @inlinable mutating func make(_ element: Element) -> Handle {
    rng ^= rng << 13
    rng ^= rng >> 17
    rng ^= rng << 5
    let node = Node(element: element, priority: rng)
    if let handle = vacant.popLast() {
      nodes[Int(handle)] = node
      return handle
    }
    nodes.append(node)
    return Handle(nodes.count - 1)
  }

  @inlinable public mutating func remove(_ handle: Handle) {
    // Rotates the node down until it is a leaf.
    while true {
      let (left, right) = (nodes[Int(handle)].left, nodes[Int(handle)].right)
      if left == Self.none, right == Self.none { break }
      let isLeft =
        right == Self.none
        || (left != Self.none && nodes[Int(left)].priority > nodes[Int(right)].priority)
      rotateUp(isLeft ? left : right)
    }
    let parent = nodes[Int(handle)].parent
    replaceChild(handle, of: parent, with: Self.none)
    var node = parent
    while node != Self.none {
      nodes[Int(node)].count -= 1
      node = nodes[Int(node)].parent
    }
    nodes[Int(handle)] = Node(element: nil, priority: 0)
    vacant.append(handle)
  }

  /// Rotates a node into the position of its parent.
  @inlinable mutating func rotateUp(_ node: Handle) {
    let parent = nodes[Int(node)].parent
    let grandparent = nodes[Int(parent)].parent
    if nodes[Int(parent)].left == node {
      let inner = nodes[Int(node)].right
      nodes[Int(parent)].left = inner
      if inner != Self.none { nodes[Int(inner)].parent = parent }
      nodes[Int(node)].right = parent
    } else {
      let inner = nodes[Int(node)].left
      nodes[Int(parent)].right = inner
      if inner != Self.none { nodes[Int(inner)].parent = parent }
      nodes[Int(node)].left = parent
    }
    nodes[Int(node)].count = nodes[Int(parent)].count
    nodes[Int(parent)].count = Int32(
      count(of: nodes[Int(parent)].left) + count(of: nodes[Int(parent)].right) + 1)
    replaceChild(parent, of: grandparent, with: node)
    nodes[Int(node)].parent = grandparent
    nodes[Int(parent)].parent = node
  }

  @inlinable mutating func replaceChild(_ child: Handle, of parent: Handle, with other: Handle) {
    if parent == Self.none {
      root = other
    } else if nodes[Int(parent)].left == child {
      nodes[Int(parent)].left = other
    } else {
      nodes[Int(parent)].right = other
    }
  }

  // MARK: Invariants

  /// Traps if counts, priorities or parent links are wrong. Takes linear time.
  public func checkInvariants() {
    var found = 0
    for (index, node) in nodes.enumerated() where node.element != nil {
      found += 1
      precondition(node.count == Int32(count(of: node.left) + count(of: node.right) + 1), "a wrong count")
      for child in [node.left, node.right] where child != Self.none {
        precondition(nodes[Int(child)].parent == Handle(index), "a child with another parent")
        precondition(nodes[Int(child)].priority <= node.priority, "a child above its parent")
      }
    }
    precondition(found == count && found + vacant.count == nodes.count, "a node that is lost")
  }
}
