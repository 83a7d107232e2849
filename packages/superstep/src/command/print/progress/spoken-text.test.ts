import { describe, expect, it } from "vitest"
import { eventsOf, finished, spoke, started, type WrittenEvent } from "./events.test-support.ts"
import { spokenText } from "./spoken-text.ts"

function heard(...events: readonly WrittenEvent[]): string {
  let text = ""
  const spoken = spokenText((more) => {
    text += more
  })
  for (const event of eventsOf(...events)) spoken.event(event)
  return text
}

describe("the text of agents", () => {
  it("is written as it arrives, and ends with a line break", () => {
    expect(heard(spoke(1, "Hello", 0), spoke(1, " you", 5), finished(1, "n"))).toBe("Hello you\n")
  })

  it("is not interleaved if two stream at once: the second one is buffered until the first has ended", () => {
    const both = [spoke(1, "one ", 0), spoke(2, "two ", 0), spoke(1, "one", 4), spoke(2, "two", 4)]
    expect(heard(...both)).toBe("one one")
    expect(heard(...both, finished(2, "n"))).toBe("one one")
    expect(heard(...both, finished(2, "n"), finished(1, "n"))).toBe("one one\ntwo two\n")
  })

  it("has no duplicates if a reply is retried from its beginning", () => {
    expect(heard(spoke(1, "Hello", 0), spoke(1, "Hel", 0), spoke(1, "lo you", 3), finished(1, "n"))).toBe(
      "Hello you\n",
    )
  })

  it("has each turn of an agent on its own line", () => {
    expect(heard(spoke(1, "I look.", 0, "c1"), spoke(1, "Found.", 0, "c2"), finished(1, "n"))).toBe(
      "I look.\nFound.\n",
    )
  })

  it("is empty if no agent streamed", () => {
    expect(heard(started(1, "n"), finished(1, "n"))).toBe("")
  })
})
