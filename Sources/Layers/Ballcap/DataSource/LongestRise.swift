// Which elements of a list that was sorted anew can stay where they are: the most that are in order already.

enum LongestRise {
  /// The places of numbers that ascend, as many as there can be. No number is there twice.
  static func places(in numbers: [Int]) -> [Int] {
    // For each length the place where the rise of that length ends lowest, and for each place the one before it.
    var ends: [Int] = []
    var previous = Array(repeating: -1, count: numbers.count)
    for place in numbers.indices {
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if numbers[ends[middle]] < numbers[place] { low = middle + 1 } else { high = middle }
      }
      if low > 0 { previous[place] = ends[low - 1] }
      if low == ends.count { ends.append(place) } else { ends[low] = place }
    }
    var places: [Int] = []
    var place = ends.last ?? -1
    while place >= 0 {
      places.append(place)
      place = previous[place]
    }
    return places.reversed()
  }
}
