/** Strings that match a pattern, built from its parts with few repetitions. Conditions are ignored: the caller checks. */
import { PatternError, type PatternNode, PatternReader } from "./pattern-reader.ts"

/** Characters to try, plain ones first. */
const ALPHABET = [
  ..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_.,:;/@#+*=!?&%$()[]{}<>'\"\\|~^`\t\n",
]
const MAX_LENGTH = 10_000

/** Up to `count` different strings, shorter ones first; some have at least `length` characters if the pattern allows it. */
export function patternSamples(source: string, length: number, count: number): string[] {
  let node: PatternNode
  try {
    node = new PatternReader(source).read().node
  } catch (error) {
    if (error instanceof PatternError) return []
    throw error
  }
  const samples = new Set<string>()
  for (let turn = 0; turn < count; turn++) samples.add(write(node, turn, turn))
  for (let extra = count; extra <= length + count; extra += Math.max(1, Math.floor(length / 8))) {
    samples.add(write(node, extra, 0))
  }
  return [...samples]
}

function write(node: PatternNode, extra: number, turn: number): string {
  switch (node.kind) {
    case "character": {
      const accepted = ALPHABET.filter((character) => node.accepts(character.codePointAt(0) ?? 0))
      return accepted[turn % Math.max(1, accepted.length)] ?? anyAccepted(node.accepts)
    }
    case "sequence":
      return node.nodes.map((one) => write(one, extra, turn)).join("")
    case "either": {
      const chosen = node.nodes[turn % node.nodes.length]
      return chosen === undefined ? "" : write(chosen, extra, Math.floor(turn / node.nodes.length))
    }
    case "repeat": {
      let text = ""
      const times = Math.min(node.max, node.min + extra)
      for (let i = 0; i < times && text.length < MAX_LENGTH; i++) {
        const more = write(node.node, extra, turn + i)
        if (more === "") break
        text += more
      }
      return text
    }
    default:
      return ""
  }
}

function anyAccepted(accepts: (code: number) => boolean): string {
  for (let code = 0xa0; code < 0xd800; code++) if (accepts(code)) return String.fromCodePoint(code)
  return ""
}
