// Others in the room, so that something happens at a single terminal.

import Foundation

/// Someone who answers to everything that is said to them.
struct Friend: Sendable {
  let name: String
  let answers: [String]

  static let all = [
    Friend(name: "eve", answers: ["Really?", "Tell me more.", "I thought so."]),
    Friend(name: "bob", answers: ["Hello!", "Back in a minute.", "That is on disk now, by the way."]),
  ]

  /// One of them, by what was said.
  static func answering(_ text: String) -> (friend: Friend, answer: String) {
    let number = text.utf8.reduce(0) { $0 &+ Int($1) }
    let friend = all[number % all.count]
    return (friend, friend.answers[number / all.count % friend.answers.count])
  }
}
