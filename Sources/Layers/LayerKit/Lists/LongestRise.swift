// The longest increasing subsequence. When a list is sorted, the elements of this subsequence need not move.

public enum LongestRise {
  /// Returns the indexes of the longest increasing subsequence. The numbers are distinct.
  public static func places(in numbers: [Int]) -> [Int] {
    // `ends[k]` is the index of the smallest number that ends a subsequence of length k + 1. `previous[i]` is
    // the index before `i` in its subsequence.
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
