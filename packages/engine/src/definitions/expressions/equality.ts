/** Equality of JSON values: by content, whatever their order of keys. Every value compared is counted. */
import type { Json } from "../../core/index.ts"
import { isList, isMap } from "./kinds.ts"
import { member } from "./path.ts"
import type { Work } from "./work.ts"

export function isEqual(left: Json | undefined, right: Json | undefined, work: Work): boolean {
  if (typeof left === "string" && typeof right === "string") {
    if (left.length !== right.length) return false
    work.spendOnText(left.length)
  }
  if (left === right) return true
  if (isList(left) && isList(right)) {
    if (left.length !== right.length) return false
    work.spend(1 + left.length)
    return left.every((item, i) => isEqual(item, right[i], work))
  }
  if (!isMap(left) || !isMap(right)) return false
  const keys = Object.keys(left)
  const others = Object.keys(right).length
  work.spendOnKeys(keys.length + others)
  if (keys.length !== others) return false
  return keys.every(
    (key) => Object.hasOwn(right, key) && isEqual(member(left, key), member(right, key), work),
  )
}
