/**
 * The text of a definition beside its graph. What is selected in one is shown in the other, and both can be changed: an edit on
 * the graph is an edit of the text, which the editor undoes like any other.
 */
import type { Definition } from "@superstep/client"
import { useQueryClient } from "@tanstack/react-query"
import { lazy, Suspense, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react"
import { client } from "../api/session.ts"
import { useAddress } from "../frame/address.ts"
import { type GraphModel, graphModel } from "../run/graph/graph-model.ts"
import { RunGraph } from "../run/graph/run-graph.tsx"
import { RunHistory } from "../run/history.ts"
import { edgeKey, nodeKey, nodeName } from "../run/keys.ts"
import type { Selection } from "../run/selection.ts"
import { Button } from "../ui/button.tsx"
import parts from "../ui/parts.module.css"
import { Empty, Failure, Loading } from "../ui/states.tsx"
import { toast, toastProblem } from "../ui/toast.tsx"
import { Problems, useChecked } from "./checked-text.tsx"
import { draftOf } from "./definition-model.ts"
import { useSchema, useVersion } from "./definition-queries.ts"
import styles from "./edit.module.css"
import type { EditorCommands } from "./editor.tsx"
import { GraphTools } from "./graph-tools.tsx"
import { PublishDialog } from "./publish.tsx"
import type { Edit as GraphEdit } from "./text/edit.ts"
import { edited } from "./text/edits.ts"
import { nodeAtOffset, nodeOf, outlineOf } from "./text/outline.ts"

const Editor = lazy(() => import("./editor.tsx"))

const NOTHING = new RunHistory()

interface EditProps {
  readonly definition: Definition
  /** Why it cannot be changed; undefined: it can. */
  readonly reason: string | undefined
  /** What somebody typed and did not save; undefined: nothing. It outlives a change of the tab. */
  readonly typed: string | undefined
  readonly onTyped: (text: string | undefined) => void
}

export default function Edit({ definition, reason, typed, onTyped }: EditProps) {
  const { name, published } = definition
  const [params, setAddress] = useAddress()
  const cache = useQueryClient()
  const asked = Number(params.get("version")) || undefined
  const base = asked ?? draftOf(definition)
  const isNew = definition.source === "store" && definition.latest === undefined
  const version = useVersion(name, base)
  const original = base === undefined ? definition.text : version.data?.text
  const text = typed ?? original
  const checked = useChecked(name, text)
  const outline = useMemo(() => (text === undefined ? undefined : outlineOf(text)), [text])
  const schema = useSchema(outline?.dialect)
  const [target, setTarget] = useState<{ readonly line: number; readonly isFocused: boolean }>()
  const [selection, setSelection] = useState<Selection>()
  const [commands, setCommands] = useState<EditorCommands>()
  const [isBusy, setBusy] = useState(false)
  const [isPublishing, setPublishing] = useState(false)
  const model = useMemo(
    () => (checked.graph === undefined ? undefined : graphModel(checked.graph)),
    [checked.graph],
  )
  const side = useKeptFocus(model, selection)
  if (definition.text === undefined && definition.latest === undefined) {
    return (
      <Empty icon="workflows" title="This workflow has no text">
        <p>{reason}</p>
      </Empty>
    )
  }
  if (version.isError && original === undefined)
    return <Failure error={version.error} retry={() => void version.refetch()} />
  if (text === undefined || original === undefined) return <Loading lines={12} />

  const isChanged = text !== original || isNew
  /** Resolves to the version of the text as it is in the editor. */
  const save = async (): Promise<number> => {
    const { data } = await client.request("POST /v1/definitions/{definition}/versions", {
      path: { definition: name },
      body: { text },
    })
    // The version is known already: the editor and an open dialog stay as they are.
    const known = { ...data, text, diagnostics: checked.problems }
    cache.setQueryData(["definition-version", name, data.version], known)
    await cache.invalidateQueries({ queryKey: ["definition", name] })
    await cache.invalidateQueries({ queryKey: ["definitions"] })
    setAddress({ version: undefined, new: undefined }, { replace: true })
    onTyped(undefined)
    return data.version
  }
  const saveDraft = async () => {
    setBusy(true)
    try {
      toast(`Saved as version ${await save()}. New runs have it once it is published.`)
    } catch (error) {
      toastProblem(error)
    }
    setBusy(false)
  }
  const isDraft = base !== undefined && base !== published
  const write = (now: string) => onTyped(now === original ? undefined : now)
  /** Returns in words why it cannot be. */
  const change = (edit: GraphEdit): string | undefined => {
    const made = edited(text, edit)
    if ("problem" in made) return made.problem
    write(made.text)
    if (edit.kind === "delete" || edit.kind === "disconnect") setSelection(undefined)
    if (edit.kind === "rename") {
      const block = edit.node.slice(0, edit.node.lastIndexOf("/") + 1)
      setSelection({ kind: "node", key: nodeKey("", block + edit.to) })
    }
    if (edit.kind === "add") setSelection({ kind: "node", key: nodeKey("", edit.id) })
    return undefined
  }
  const select = (chosen: Selection | undefined) => {
    setSelection(chosen)
    const id = chosen?.kind === "node" ? topNode(chosen.key) : undefined
    const node = outline === undefined || id === undefined ? undefined : nodeOf(outline, id)
    if (node !== undefined) setTarget({ line: node.line, isFocused: false })
  }
  return (
    <div className={styles.edit}>
      <div>
        <div className={parts.bar}>
          <span className={styles.which}>{whichText(definition, base, text !== original, isNew)}</span>
          {reason === undefined && (
            <>
              {text !== original && <Button onClick={() => onTyped(undefined)}>Discard changes</Button>}
              <Button onClick={saveDraft} isBusy={isBusy} disabled={!isChanged || !checked.isValid}>
                Save draft
              </Button>
              <Button
                look="primary"
                icon="check"
                disabled={!checked.isValid || !(isChanged || isDraft)}
                onClick={() => setPublishing(true)}
              >
                Publish…
              </Button>
            </>
          )}
        </div>
        {reason !== undefined && (
          <p className={parts.notice} role="note">
            {reason}
          </p>
        )}
      </div>
      <div className={styles.sides}>
        <section className={styles.text} aria-label="Text">
          <Suspense fallback={<Loading lines={10} label="Loading the editor" />}>
            <Editor
              label={`Definition of ${name}`}
              text={text}
              isReadOnly={reason !== undefined}
              problems={checked.problems}
              target={target}
              schema={schema}
              onText={write}
              onCursor={(offset) => {
                const node = outline === undefined ? undefined : nodeAtOffset(outline, offset)
                setSelection(node === undefined ? undefined : { kind: "node", key: nodeKey("", node.id) })
              }}
              onReady={setCommands}
            />
          </Suspense>
        </section>
        <section ref={side} className={styles.drawing} aria-label="Graph" tabIndex={-1}>
          {reason === undefined && outline !== undefined && (
            <GraphTools
              outline={outline}
              node={selection?.kind === "node" ? topNode(selection.key) : undefined}
              edge={model === undefined ? undefined : edgeOf(model, selection)}
              onEdit={change}
              commands={commands}
            />
          )}
          {checked.isBehind && (
            <p className={styles.stale}>The graph is that of the last text without errors.</p>
          )}
          {model === undefined ? (
            checked.problems.length > 0 && (
              <Empty icon="workflows" title="No graph yet">
                <p>It is drawn as soon as the text has no errors.</p>
              </Empty>
            )
          ) : (
            <RunGraph
              drawing={JSON.stringify([model.nodes.map(({ id }) => id), model.edges.length])}
              history={NOTHING}
              version={0}
              point={0}
              selection={selection}
              select={select}
              model={model}
              error={undefined}
              onConnect={
                reason === undefined
                  ? (from, to) => {
                      const problem = change({ kind: "connect", from: topNode(from), to: topNode(to) })
                      if (problem !== undefined) toastProblem(problem)
                    }
                  : undefined
              }
            />
          )}
        </section>
      </div>
      <Problems checked={checked} onChoose={(line) => setTarget({ line, isFocused: true })} />
      {isPublishing && (
        <PublishDialog
          definition={definition}
          text={text}
          version={async () => (isChanged || base === undefined ? await save() : base)}
          onClose={() => setPublishing(false)}
        />
      )}
    </div>
  )
}

/**
 * An edit may take away the node that has the focus: the focus then stays within the graph, at what is selected there. The new
 * graph and the new selection arrive in either order.
 */
function useKeptFocus(model: GraphModel | undefined, selection: Selection | undefined) {
  const side = useRef<HTMLElement>(null)
  const isInside = useRef(false)
  useEffect(() => {
    const follow = ({ target }: FocusEvent) => {
      isInside.current = side.current?.contains(target as Node) === true
    }
    document.addEventListener("focusin", follow)
    return () => document.removeEventListener("focusin", follow)
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each graph and selection
  useLayoutEffect(() => {
    const { activeElement, body } = document
    if (!isInside.current || (activeElement !== body && activeElement !== side.current)) return
    const chosen = side.current?.querySelector<HTMLElement>('[data-node][aria-pressed="true"]')
    ;(chosen ?? side.current)?.focus()
  }, [model, selection])
  return side
}

/** The node of the definition itself: one of a workflow that is unfolded in it belongs to the node that calls it. */
function topNode(key: string): string {
  return nodeName(key.split("/")[0] as string)
}

function edgeOf({ edges }: GraphModel, selection: Selection | undefined) {
  if (selection?.kind !== "edge") return undefined
  const edge = edges.find(({ from, to }) => edgeKey("", from, to) === selection.key)
  return edge?.from === undefined ? undefined : { from: edge.from, to: edge.to ?? "" }
}

function whichText(
  { published, source }: Definition,
  base: number | undefined,
  isChanged: boolean,
  isNew: boolean,
): string {
  if (isNew) return "A new definition that is not saved"
  const what =
    base === undefined
      ? published === undefined
        ? source === "file"
          ? "The text of the file"
          : "The text"
        : `Version ${published}, published`
      : base === published
        ? `Version ${base}, published`
        : `Version ${base}, ${published === undefined || base > published ? "a draft" : "an earlier one"}`
  return isChanged ? `${what}, with changes that are not saved` : what
}
