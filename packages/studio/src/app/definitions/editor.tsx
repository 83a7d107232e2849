/**
 * The text of a definition in CodeMirror, with completion and its problems in place. Loaded when it is first shown.
 *
 * 1. It lives in a shadow root: there, CodeMirror adopts style sheets instead of writing style elements, which the content
 *    security policy forbids. No style may load a `data:` image, and no edit may leave a style attribute, either.
 * 2. The text belongs to the caller. A change from outside replaces what differs, as one step to undo; a change by typing is
 *    reported and not written back.
 */
import { autocompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete"
import { isolateHistory, redo, undo } from "@codemirror/commands"
import { json } from "@codemirror/lang-json"
import { yaml } from "@codemirror/lang-yaml"
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language"
import { lintGutter, type Diagnostic as Mark, setDiagnostics } from "@codemirror/lint"
import { Compartment, EditorState, type Extension } from "@codemirror/state"
import { EditorView } from "@codemirror/view"
import { tags } from "@lezer/highlight"
import type { Diagnostic } from "@superstep/client"
import { basicSetup } from "codemirror"
import { useEffect, useRef } from "react"
import { languageOf, rangeOf } from "./definition-model.ts"
import styles from "./edit.module.css"
import { completionsAt } from "./text/completion.ts"

/** What others can do with the text: their changes are undone here, too. */
export interface EditorCommands {
  readonly undo: () => void
  readonly redo: () => void
}

interface EditorProps {
  readonly label: string
  readonly text: string
  readonly isReadOnly: boolean
  readonly problems: readonly Diagnostic[]
  /** The line to go to; a new object goes there again. */
  readonly target: { readonly line: number; readonly isFocused: boolean } | undefined
  /** The JSON Schema of the text; undefined: nothing is offered. */
  readonly schema: { readonly [key: string]: unknown } | undefined
  readonly onText: (text: string) => void
  /** The offset of the cursor, when somebody moves it. */
  readonly onCursor: (offset: number) => void
  readonly onReady: (commands: EditorCommands) => void
}

export default function Editor(props: EditorProps) {
  const { label, text, isReadOnly, problems, target } = props
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | undefined>(undefined)
  /** What was reported and not yet received back. A late echo is not a change from outside. */
  const reported = useRef(new Set<string>())
  const latest = useRef(props)
  latest.current = props

  useEffect(() => {
    const element = host.current as HTMLDivElement
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" })
    const language = new Compartment()
    let spoken = languageOf(latest.current.text)
    const editor = new EditorView({
      root,
      parent: root,
      doc: latest.current.text,
      extensions: [
        basicSetup,
        autocompletion({ override: [(context) => complete(context, latest.current.schema)] }),
        lintGutter(),
        theme,
        syntaxHighlighting(highlighting),
        language.of(languages[spoken]),
        EditorView.lineWrapping,
        EditorView.domEventHandlers({ beforeinput: replaceSelection }),
        EditorState.readOnly.of(isReadOnly),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
        EditorView.updateListener.of((update) => {
          const { state } = update
          if (update.docChanged) {
            const now = state.doc.toString()
            reported.current.add(now)
            latest.current.onText(now)
            const next = languageOf(now)
            if (next !== spoken) {
              spoken = next
              editor.dispatch({ effects: language.reconfigure(languages[next]) })
            }
          }
          if (update.selectionSet) latest.current.onCursor(state.selection.main.head)
        }),
      ],
    })
    view.current = editor
    latest.current.onReady({ undo: () => undo(editor), redo: () => redo(editor) })
    return () => editor.destroy()
  }, [label, isReadOnly])

  useEffect(() => {
    const editor = view.current
    const now = editor?.state.doc.toString()
    if (now === text) reported.current.clear()
    if (editor === undefined || now === text || reported.current.has(text)) return
    editor.dispatch({ changes: differenceOf(now ?? "", text), annotations: isolateHistory.of("full") })
  }, [text])

  useEffect(() => {
    const editor = view.current
    if (editor === undefined) return
    const shown = editor.state.doc.toString()
    editor.dispatch(
      setDiagnostics(
        editor.state,
        problems.map((problem) => markOf(shown, problem)),
      ),
    )
  }, [problems])

  useEffect(() => {
    const editor = view.current
    if (editor === undefined || target === undefined) return
    const { from } = editor.state.doc.line(Math.min(target.line, editor.state.doc.lines))
    const effects = EditorView.scrollIntoView(from, { y: "center" })
    editor.dispatch({ selection: { anchor: from }, effects })
    if (target.isFocused) editor.focus()
  }, [target])

  return <div ref={host} className={styles.editor} />
}

/** The part that differs: what is before and after it keeps its marks, and the cursor its place. */
function differenceOf(before: string, after: string) {
  const most = Math.min(before.length, after.length)
  let from = 0
  while (from < most && before[from] === after[from]) from++
  let tail = 0
  while (tail < most - from && before.at(-1 - tail) === after.at(-1 - tail)) tail++
  return { from, to: before.length - tail, insert: after.slice(from, after.length - tail) }
}

const KINDS = { field: "property", value: "enum", name: "variable" } as const

function complete(context: CompletionContext, schema: EditorProps["schema"]): CompletionResult | null {
  const isWord = context.matchBefore(/[\w.$/"'-]+$/) !== null
  if (schema === undefined || !(context.explicit || isWord)) return null
  const found = completionsAt(schema, context.state.doc.toString(), context.pos)
  if (found === undefined) return null
  return {
    from: found.from,
    validFor: /^["']?[\w.$/-]*$/,
    options: found.options.map(({ label, insert, kind, about }) => ({
      label,
      apply: insert,
      type: KINDS[kind],
      ...(about !== undefined && { info: about }),
    })),
  }
}

/** Text over a selection is written here: the browser would keep the colour of what it replaces, in a style attribute. */
function replaceSelection(event: InputEvent, view: EditorView): boolean {
  const { state } = view
  const { data, inputType, isComposing } = event
  const { from, to, empty } = state.selection.main
  if (inputType !== "insertText" || data === null || isComposing || empty || state.readOnly) return false
  event.preventDefault()
  const insert = () =>
    state.update(state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true })
  const isHandled = state
    .facet(EditorView.inputHandler)
    .some((handle) => handle(view, from, to, data, insert))
  if (!isHandled) view.dispatch(insert())
  return true
}

/** A problem with a word that was probably meant offers to write it. */
function markOf(text: string, problem: Diagnostic): Mark {
  const { severity, message, suggestion, code } = problem
  const range = rangeOf(text, problem)
  return {
    ...range,
    severity,
    message,
    source: code,
    ...(suggestion !== undefined && {
      actions: [
        {
          name: `Write ${suggestion}`,
          apply: (view, from, to) => view.dispatch({ changes: { from, to, insert: suggestion } }),
        },
      ],
    }),
  }
}

const languages: Readonly<Record<"json" | "yaml", Extension>> = { json: json(), yaml: yaml() }

const highlighting = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--completed)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], color: "var(--limit)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--text-2)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--text-2)" },
  { tag: tags.content, color: "var(--text)" },
])

const underline = (colour: string) => ({
  backgroundImage: "none",
  textDecoration: `underline wavy ${colour} 1px`,
  textUnderlineOffset: "3px",
})
const dot = (colour: string) => ({
  content: "normal",
  width: "8px",
  height: "8px",
  margin: "5px 0 0 2px",
  background: colour,
  borderRadius: "50%",
})

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "var(--s2)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { color: "var(--text-2)", backgroundColor: "var(--surface)", border: "0" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--hover) 70%, transparent)" },
  ".cm-activeLineGutter": { color: "var(--text)", backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "var(--accent-soft)",
  },
  ".cm-selectionMatch": { backgroundColor: "var(--surface-2)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)" },
  ".cm-foldPlaceholder": {
    color: "var(--text-2)",
    backgroundColor: "var(--surface-2)",
    borderColor: "var(--border)",
  },
  ".cm-tooltip, .cm-panels": {
    color: "var(--text)",
    backgroundColor: "var(--surface)",
    border: "1px solid var(--border)",
  },
  ".cm-tooltip": { borderRadius: "var(--radius)", boxShadow: "var(--shadow)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "16em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "2px 8px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    color: "var(--on-accent)",
    backgroundColor: "var(--accent-fill)",
  },
  ".cm-completionIcon": { display: "none" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "600" },
  ".cm-completionInfo": { padding: "6px 10px", fontFamily: "var(--sans)", maxWidth: "320px" },
  ".cm-diagnostic": { padding: "6px 10px", fontFamily: "var(--sans)", maxWidth: "480px" },
  ".cm-diagnosticAction": {
    color: "var(--on-accent)",
    backgroundColor: "var(--accent-fill)",
    borderRadius: "4px",
  },
  ".cm-diagnosticSource": { fontSize: "var(--s1)", opacity: "1", color: "var(--text-2)" },
  ".cm-lintRange-error": underline("var(--failed)"),
  ".cm-lintRange-warning": underline("var(--waiting)"),
  ".cm-lint-marker-error": dot("var(--failed)"),
  ".cm-lint-marker-warning": dot("var(--waiting)"),
  ".cm-textfield": {
    color: "var(--text)",
    backgroundColor: "var(--surface)",
    borderColor: "var(--border-2)",
  },
  ".cm-button": { color: "var(--text)", backgroundImage: "none", borderColor: "var(--border)" },
})
