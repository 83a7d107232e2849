/**
 * Words that mean nearly the same when a route, a tool or a label is chosen. A small table for everyday requests: the
 * stand-in has no other idea of meaning.
 */
import { stem } from "./words.ts"

const GROUPS: readonly string[] = [
  "bill billing invoice charge payment pay paid refund money fee subscription receipt card bank",
  "price cost dollar euro expensive cheap budget quote pricing",
  "error bug crash broken fail failure exception fault problem technical install login password server app software fix debug",
  "order buy purchase sale sales cart checkout customer",
  "ship shipping delivery deliver parcel package courier arrive late tracking track",
  "return exchange warranty send back replace",
  "search find lookup look query research web google internet online discover",
  "read open show view display load print file document",
  "write save store create new add insert append draft compose",
  "edit change update modify rename replace",
  "delete remove erase drop clear",
  "list enumerate directory folder files ls",
  "weather temperature forecast rain sunny snow wind climate degrees umbrella",
  "time date today clock now tomorrow day hour calendar schedule appointment meeting",
  "calculate compute sum plus minus multiply times divide math calculator arithmetic number total average percent",
  "email mail message send notify notification inbox",
  "translate translation language german french spanish english italian japanese chinese",
  "fetch download url link page website http https site crawl",
  "run execute shell command script terminal bash",
  "remember memory recall forget note store",
  "bye goodbye thanks thank quit end finish done stop exit farewell",
  "person human agent operator representative manager someone staff escalate",
  "good great love excellent happy positive wonderful best like enjoy glad pleased amazing",
  "bad terrible hate awful angry negative worst disappointed poor unhappy upset horrible sad useless",
  "urgent asap immediately emergency critical high priority severe",
  "yes true accept approve approved agree ok correct valid pass sufficient complete satisfied",
  "reject rejected deny denied decline refuse invalid wrong revise",
  "code program programming typescript python javascript function developer engineer",
  "database sql table row column postgres schema csv",
  "law legal contract lawyer attorney court clause compliance",
  "doctor health medical patient symptom medicine hospital ill",
  "travel flight hotel trip booking book reserve reservation train airport vacation holiday table restaurant",
  "job hire employee people worker work vacation salary hr leave staff",
  "image picture photo draw painting diagram",
  "summary summarise summarize shorten brief digest overview report",
  "review check verify critique proofread inspect quality",
  "plan planner outline steps strategy",
  "science physics chemistry biology",
  "history historical war ancient century",
  "sport football soccer tennis game team match",
]

let table: ReadonlyMap<string, readonly number[]> | undefined

/** The groups a root belongs to. */
export function conceptsOf(root: string): readonly number[] {
  table ??= build()
  return table.get(root) ?? []
}

function build(): ReadonlyMap<string, readonly number[]> {
  const groups = new Map<string, number[]>()
  GROUPS.forEach((words, group) => {
    for (const word of words.split(" ")) {
      const root = stem(word)
      const of = groups.get(root) ?? []
      if (!of.includes(group)) of.push(group)
      groups.set(root, of)
    }
  })
  return groups
}
