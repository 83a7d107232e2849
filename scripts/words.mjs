// Finds words that this project does not use, and says what to write instead. `npm run words [path …]`; all tracked files
// without arguments. Identifiers count: `toldAsText` is found as well as "is told".
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")

/** Sources of the packages, tests aside: words that are retired there, and not everywhere yet. */
const plain = /^packages\/[^/]+\/src\/(?!.*\.test)/

/** The layers from history up to agents, with their tests. */
const agents =
  /^packages\/(engine\/src\/(agents|files|history|models|packages|telemetry|testing|text|tools)|mcp\/src)\//

/** @type {[pattern: RegExp, instead: string, where?: RegExp][]} */
const retired = [
  [/\btold\b|\bTold|told(?=[A-Z])/, "reported, shown, passed, sent"],
  [
    /\b(is|are|be|been|was|were|it|they|as) said\b(?! (by|to))|\bsaid so\b|\bSaid[A-Z]|\bsaid(?=[A-Z(:])/,
    "reported, named, stated",
  ],
  [/\bthe given\b|\bgiven(?=[A-Z(.:]|,? =)/, "the argument's name, passed, explicit"],
  [/\b[Ss]igns\b(?! (in|with|every|each)\b)/, "characters"],
  [/\ba text\b|\bA text\b/, "a string, text"],
  [/\bat the most\b/i, "at most"],
  [/\bthat (is|was|are) there\b/i, "existing"],
  [/\bgo(es|ing)? on\b(?! (to|with the same))/i, "continue, resume"],
  [/\bwent on\b/i, "continued, resumed"],
  [/\bmended\b/i, "fixed"],
  [/\btake[ns]? up\b|\btook up\b/i, "claim, restore"],
  [/\bput(s|ting)? aside\b/i, "unload"],
  [/\bcomes? to\b(?! (life|mind))/i, "result in, reach"],
  [/\bfor ever\b/i, "forever, without bound"],
  [/\bstrangers?\b/i, "untrusted input, other people"],
  [/\bthe command says\b|\bthe command `superstep`/i, "the CLI"],
  [/\b(MOST|LEAST|LONGEST|DEEPEST)_/, "MAX_, MIN_"],
  [/\bpictures?\b/i, "diagram"],
  [/\bfor want of\b/i, "for lack of"],
  [/\bmade up when\b/i, "generated if"],
  [/\bnobody alive\b/i, "no live process"],
  [/\bthat there (is|are) not\b(?=["'`,.]|$)/, "that does not exist, unknown"],
  [/\bcomes? into being\b/i, "is created"],
  [/\bstands? for itself\b/i, "self-contained"],
  [/\bis begun\b/i, "starts"],
  [
    /\b(it|run|task|attempt|caller|machine|frame|one) is over\b|\b(that|runs|tasks) are over\b/,
    "has ended, finished",
    plain,
  ],
  [/\bunder way\b/i, "in progress", plain],
  [/\b(no longer|still|to be) good\b/i, "valid", plain],
  [/\bwhoever\b/i, "the process that, the caller", plain],
  [/\bby now\b/i, "now, already", plain],
  [/\b(is|are|was|were) read back\b/i, "loaded", plain],
  [/\bat hand\b/i, "loaded, known", plain],
  [/\bgets? to (see|know)\b/i, "sees, receives", plain],
  [/\b(be it|as (it|they) came)\b/i, "whether, unchanged", plain],
  [/\b(is|are|was) put together\b/i, "composed, merged", plain],
  [/\bon record\b/i, "recorded", agents],
  [/\b(that|what) the record answers\b/i, "that is answered from the record", agents],
  [/\bwithout end\b/i, "endlessly, forever", agents],
  [/\bfor good\b(?! reason)/i, "permanently", agents],
  [/\bmakes? no sense\b/i, "invalid", agents],
  [/\bbr(eaks?|oke|oken) off\b/i, "is interrupted, fails", agents],
  [/\btried again\b/i, "retried", agents],
  [/\bin the place of\b/i, "instead of, replaces", agents],
  [/\bkept whole\b/i, "stays complete", agents],
  [/\b(what|who) is wrong with\b/i, "the problem with", agents],
  [/\b(is|are|was|were) made up\b/i, "invented, generated", agents],
  [/\bif need be\b/i, "if necessary", plain],
  [/\bbut for\b/i, "except", plain],
  [/\bwhere there (is|are)\b/i, "if there is", plain],
  [/\blooked (at|into)\b/i, "examined, read", plain],
  [/\ball the same\b/i, "anyway, nevertheless", plain],
  [/\bvi\.waitFor\(/, "expect.poll: waitFor gives up after a second, which a busy machine needs"],
  [/\bmade anew\b|\bloads? anew\b/i, "again, reload", plain],
]

/** Files whose words are not ours to choose, or are data. */
const excluded = /(^|\/)(package-lock\.json|LICENSE|.*\.api\.md)$|^bench\/results\/|^scripts\/words\.mjs$/
const included = /\.(tsx?|mjs|md|yaml|yml|json)$/

const paths = process.argv.slice(2)
const files = execFileSync("git", ["ls-files", "--", ...paths], { cwd: root, encoding: "utf8" })
  .split("\n")
  .filter((file) => included.test(file) && !excluded.test(file))

let found = 0
for (const file of files) {
  const lines = readFileSync(resolve(root, file), "utf8").split("\n")
  for (const [index, line] of lines.entries()) {
    // `words: allow` marks a line that quotes a retired word on purpose.
    if (line.includes("words: allow")) continue
    for (const [pattern, instead, where] of retired) {
      if (where !== undefined && !where.test(file)) continue
      const match = pattern.exec(line)
      if (match === null) continue
      found += 1
      console.log(`${file}:${index + 1}:${match.index + 1}: "${match[0]}" → ${instead}`)
    }
  }
}
if (found > 0) {
  console.log(`${found} retired words`)
  process.exitCode = 1
}
