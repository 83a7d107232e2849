/** docs/errors.md has a row for each error code in the sources, and no other. */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { retryDelay } from "superstep/core"
import { beforeAll, describe, expect, test } from "vitest"
import { type CodeSite, codeSites } from "./error-codes.test-support.ts"

const PAGE = resolve(import.meta.dirname, "../docs/errors.md")

/** Literals that look like codes, by what they are instead. */
const OTHER_LITERALS = {
  "environment variables": [
    "ANTHROPIC_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_API_KEY",
    "BRAVE_API_KEY",
    "DEEPSEEK_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "NEBIUS_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "SEARXNG_URL",
    "SERPER_API_KEY",
    "SUPERSTEP_KEYS",
    "TAVILY_API_KEY",
    "XAI_API_KEY",
  ],
  "codes of Node and its HTTP client, which are compared with": [
    "EAI_AGAIN",
    "ENOENT",
    "ERR_OUT_OF_RANGE",
    "ERR_PACKAGE_PATH_NOT_EXPORTED",
    "ERR_UNKNOWN_FILE_EXTENSION",
    "UND_ERR_SOCKET",
  ],
  "the YAML parser's kinds of scalars, and a code of its own": [
    "BLOCK_FOLDED",
    "BLOCK_LITERAL",
    "QUOTE_DOUBLE",
    "QUOTE_SINGLE",
    "TAG_RESOLVE_FAILED",
  ],
  "values of formats and protocols: a node type, a role of A2A, a mode of DuckDB": [
    "READ_ONLY",
    "ROLE_USER",
    "TOOL_EXECUTOR",
  ],
  "types of AG-UI's events": [
    "REASONING_END",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "REASONING_MESSAGE_START",
    "REASONING_START",
    "RUN_ERROR",
    "RUN_FINISHED",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "TEXT_MESSAGE_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "TOOL_CALL_RESULT",
    "TOOL_CALL_START",
  ],
  "data of the published store suite": ["NOT_OPEN", "NO_LUCK"],
}
const others = new Set(Object.values(OTHER_LITERALS).flat())

/** `CODE` †: the mark says that the error is never retried. */
const rows = [
  ...readFileSync(PAGE, "utf8").matchAll(/^\| `([A-Z][A-Z0-9_]*\*?)`( †)? \|(.*)\|(.*)\|$/gm),
].map(([, code = "", mark, happened = "", advice = ""]) => ({
  code,
  isMarked: mark !== undefined,
  happened: happened.trim(),
  advice: advice.trim(),
}))
const documented = new Set(rows.map(({ code }) => code))

let sites: readonly CodeSite[] = []
beforeAll(() => {
  sites = codeSites()
}, 120_000)

describe("docs/errors.md", () => {
  test("has a row for every code in the sources", () => {
    const missing = sites.filter(({ code }) => !others.has(code) && !hasRow(code))
    expect(missing.map(({ code, at }) => `${code} (${at})`)).toEqual([])
  })

  test("has no row for a code that nothing reports any more", () => {
    const made = new Set(sites.filter(({ isMade }) => isMade).map(({ code }) => code))
    expect([...documented].filter((code) => !made.has(code))).toEqual([])
  })

  test("has one row for each code, with what happened and what to do", () => {
    expect(rows.map(({ code }) => code).filter((code, i, all) => all.indexOf(code) !== i)).toEqual([])
    for (const { code, happened, advice } of rows) {
      expect(happened, code).toMatch(/\.$/)
      expect(advice, code).toMatch(/\.$/)
    }
  })

  test("marks the codes that are never retried, and no others", () => {
    for (const { code, isMarked } of rows) {
      const verdict = neverRetried(code)
      if (verdict !== undefined) expect(isMarked, code).toBe(verdict)
    }
    expect(rows.filter(({ isMarked }) => isMarked).length).toBeGreaterThan(50)
  })
})

test("every literal that is listed as no code is in the sources", () => {
  const found = new Set(sites.map(({ code }) => code))
  expect([...others].filter((literal) => !found.has(literal))).toEqual([])
  expect([...others].filter((literal) => documented.has(literal))).toEqual([])
})

/** `REMOTE_STATUS_404` is in the row of `REMOTE_STATUS_*`. */
function hasRow(code: string): boolean {
  if (documented.has(code)) return true
  return [...documented].some((row) => row.endsWith("*") && code.startsWith(row.slice(0, -1)))
}

/** Undefined: the places where it is made do not show it. */
function neverRetried(code: string): boolean | undefined {
  if (retryDelay({ attempts: 2 }, 1, { code, message: "" }, "") === undefined) return true
  const shown = sites.flatMap((site) => (site.code === code ? [site.retryable] : []))
  if (shown.includes(true)) return false
  return shown.includes(false) ? true : undefined
}
