/** The yaml package's complaints, said so that one knows what to change. */
import type { ErrorCode, YAMLError } from "yaml"

export function inPlainWords(error: YAMLError): { readonly code: string; readonly message: string } {
  if (error.code === "TAG_RESOLVE_FAILED") {
    const tag = /^Unresolved tag: (.*)$/.exec(error.message)?.[1]?.replace(/^tag:yaml\.org,2002:/, "!!")
    if (tag === undefined) return { code: "YAML_SYNTAX", message: sentence(error.message) }
    return CORE_TAGS.has(tag)
      ? { code: "YAML_SYNTAX", message: `The value does not fit its tag ${tag}.` }
      : {
          code: "UNKNOWN_TAG",
          message: `The tag ${tag} is not known here. Remove it: definitions hold plain data.`,
        }
  }
  const [, plain] = BY_MESSAGE.find(([pattern]) => pattern.test(error.message)) ?? []
  return { code: "YAML_SYNTAX", message: plain ?? BY_CODE[error.code] ?? sentence(error.message) }
}

const CORE_TAGS = new Set(["!!bool", "!!float", "!!int", "!!map", "!!null", "!!seq", "!!str"])

const BY_MESSAGE: readonly (readonly [RegExp, string])[] = [
  [/^Missing closing .quote/, "This quote is never closed."],
  [/ end with a \]$/, "This [ is never closed, or what it holds is not indented."],
  [/ end with a \}$/, "This { is never closed, or what it holds is not indented."],
  [
    /^Nested mappings are not allowed/,
    "A value that holds `: ` is put in quotes. If this is a key, its line is indented too far.",
  ],
  [/^Implicit map keys need to be followed/, "A key is followed by `:` and a value."],
  [/must start at the same column$/, "The indentation does not match that of the lines above."],
  [/^Sequence item without/, "Every item of the list begins with `- `, at the same column."],
  [/^A block sequence may not be used/, "A list stands on lines of its own, below its key."],
  [/^Missing , between/, "A comma is missing before this."],
  [/^Missing , or : between/, "A comma or colon is missing before this."],
  [/^Comments must be separated/, "A comment needs a space before #."],
  [/^Plain value cannot start with/, "A value that begins with this sign is put in quotes."],
  [/at node end$/, "There is more text here after the end of the value."],
  [/^Block scalar header includes/, "After | or > the line ends; the text begins on the next line."],
  [/^Missing directives-end/, "After directives (%) comes a line of ---."],
]

export const BAD_ESCAPE =
  "This escape is not known in double quotes. Write a \\ as \\\\, or use single quotes."

const BY_CODE: Partial<Record<ErrorCode, string>> = {
  TAB_AS_INDENT: "Tabs cannot indent YAML. Use spaces.",
  BAD_INDENT: "The indentation does not match that of the lines above.",
  BAD_DQ_ESCAPE: BAD_ESCAPE,
  BLOCK_IN_FLOW: "Between { } and [ ] everything is written with commas, not with line breaks and dashes.",
  MULTILINE_IMPLICIT_KEY: "This line has no `:` after its key, or a quote or the indentation is wrong.",
  KEY_OVER_1024_CHARS: "A key has at most 1024 characters.",
  MULTIPLE_ANCHORS: "A value has at most one anchor (&name).",
  MULTIPLE_TAGS: "A value has at most one tag (!name).",
  ALIAS_PROPS: "An alias (*name) has no anchor or tag of its own.",
  BAD_ALIAS: "An anchor (&) or alias (*) needs a name. If this is a text, put it in quotes.",
  UNEXPECTED_TOKEN: "This sign is not expected here. If it belongs to a text, put the text in quotes.",
}

function sentence(message: string): string {
  return /[.?!]$/.test(message) ? message : `${message}.`
}
