/** Edits on the graph: what is selected can be renamed, deleted and connected, and nodes are added next to it. */
import { type ReactNode, useEffect, useRef, useState } from "react"
import { Button, IconButton } from "../ui/button.tsx"
import { Field, Select, TextInput } from "../ui/field.tsx"
import { FormDialog } from "../ui/form-dialog.tsx"
import { toast, toastProblem } from "../ui/toast.tsx"
import styles from "./edit.module.css"
import type { EditorCommands } from "./editor.tsx"
import type { Edit, InsertAt } from "./text/edit.ts"
import { ADDABLE } from "./text/edits.ts"
import { nodeOf, type Outline } from "./text/outline.ts"

interface GraphToolsProps {
  readonly outline: Outline
  /** The selected node. */
  readonly node: string | undefined
  /** The selected edge; an empty `to` is the output. */
  readonly edge: { readonly from: string; readonly to: string } | undefined
  /** Returns in words why it cannot be. */
  readonly onEdit: (edit: Edit) => string | undefined
  readonly commands: EditorCommands | undefined
}

type Open = "add" | "connect" | "rename"

export function GraphTools({ outline, node: id, edge, onEdit, commands }: GraphToolsProps) {
  const [open, setOpen] = useState<Open>()
  const bar = useRef<HTMLDivElement>(null)
  const node = id === undefined ? undefined : nodeOf(outline, id)
  const tryEdit = (edit: Edit, done: string) => {
    const problem = onEdit(edit)
    if (problem === undefined) toast(done)
    else toastProblem(problem)
  }
  const remove = () => {
    if (edge !== undefined)
      tryEdit({ kind: "disconnect", ...edge }, `Removed the edge to ${edge.to || "the output"}.`)
    else if (node !== undefined) tryEdit({ kind: "delete", node: node.id }, `Deleted ${node.id}.`)
  }
  const latest = useRef({ remove, node, commands })
  latest.current = { remove, node, commands }
  useEffect(() => {
    const side = bar.current?.parentElement
    const onKey = (event: KeyboardEvent) => {
      const { remove: removeNow, node: nodeNow, commands: now } = latest.current
      if ((event.target as Element).closest("input, textarea, select, dialog") !== null) return
      const isCommand = event.metaKey || event.ctrlKey
      if (event.key === "Delete" || event.key === "Backspace") removeNow()
      else if (event.key === "F2" && nodeNow !== undefined) setOpen("rename")
      else if (isCommand && event.key.toLowerCase() === "z") (event.shiftKey ? now?.redo : now?.undo)?.()
      else return
      event.preventDefault()
    }
    side?.addEventListener("keydown", onKey)
    return () => side?.removeEventListener("keydown", onKey)
  }, [])
  const close = () => setOpen(undefined)
  return (
    <div className={styles.graphTools} role="toolbar" aria-label="Edit the graph" ref={bar}>
      <Button icon="plus" onClick={() => setOpen("add")}>
        Add
      </Button>
      <Button disabled={outline.nodes.length < 1} onClick={() => setOpen("connect")}>
        Connect
      </Button>
      <Button disabled={node === undefined} onClick={() => setOpen("rename")} title="F2">
        Rename
      </Button>
      <Button disabled={node === undefined && edge === undefined} onClick={remove} title="Delete">
        {edge === undefined ? "Delete" : "Disconnect"}
      </Button>
      <span className={styles.chosen}>
        {edge !== undefined ? `${edge.from} → ${edge.to || "output"}` : (node?.id ?? "")}
      </span>
      <IconButton icon="undo" label="Undo (⌘Z or Ctrl+Z)" onClick={() => commands?.undo()} />
      <IconButton icon="redo" label="Redo (⌘⇧Z or Ctrl+Shift+Z)" onClick={() => commands?.redo()} />
      {open === "add" && <AddDialog outline={outline} node={node?.id} onEdit={onEdit} onClose={close} />}
      {open === "connect" && (
        <ConnectDialog outline={outline} node={node?.id} onEdit={onEdit} onClose={close} />
      )}
      {open === "rename" && node !== undefined && (
        <RenameDialog node={node.id} onEdit={onEdit} onClose={close} />
      )}
    </div>
  )
}

interface EditDialogProps {
  readonly onEdit: GraphToolsProps["onEdit"]
  readonly onClose: () => void
}

/** A form that makes one edit, and says why it cannot be. */
function EditForm({
  edit,
  onEdit,
  onClose,
  ...dialog
}: EditDialogProps & {
  readonly title: string
  readonly verb: string
  readonly edit: Edit
  readonly children: ReactNode
}) {
  const submit = () => {
    const problem = onEdit(edit)
    if (problem === undefined) onClose()
    return problem
  }
  return <FormDialog {...dialog} onSubmit={submit} onClose={onClose} />
}

const NEW_AGENT = "\u0000new"

function AddDialog({
  outline,
  node: id,
  ...dialog
}: EditDialogProps & { readonly outline: Outline; readonly node: string | undefined }) {
  const { agents, dialect } = outline
  const types = ADDABLE[dialect]
  const [type, setType] = useState(types[0]?.[0] ?? "")
  const [name, setName] = useState("")
  const [agent, setAgent] = useState(agents[0] ?? NEW_AGENT)
  const places = placesFor(outline, id)
  const [place, setPlace] = useState(places[0]?.[0] ?? "end")
  const edit: Edit = {
    kind: "add",
    id: name.trim(),
    type,
    ...(type === "agent" && { agent: agent === NEW_AGENT ? name.trim() : agent }),
    ...(place !== "end" && { node: id, place: place as InsertAt }),
  }
  return (
    <EditForm title={dialect === "steps" ? "Add a step" : "Add a node"} verb="Add" edit={edit} {...dialog}>
      <Field label="Name">
        {(props) => (
          <TextInput
            {...props}
            value={name}
            autoFocus
            required
            maxLength={100}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        )}
      </Field>
      <Choice label="Kind" value={type} options={types} onChange={setType} />
      {type === "agent" && (
        <Choice
          label="Agent"
          value={agent}
          options={[...agents.map((one) => [one, one] as const), [NEW_AGENT, "A new one with this name"]]}
          onChange={setAgent}
        />
      )}
      {places.length > 1 && <Choice label="Where" value={place} options={places} onChange={setPlace} />}
    </EditForm>
  )
}

function placesFor(outline: Outline, id: string | undefined): readonly (readonly [string, string])[] {
  const node = id === undefined ? undefined : nodeOf(outline, id)
  const end = ["end", outline.dialect === "steps" ? "At the end" : "Without an edge"] as const
  if (node === undefined) return [end]
  const inside =
    node.type === "parallel" && outline.dialect === "steps"
      ? [["inside", `As a branch of ${node.id}`] as const]
      : []
  const branches =
    node.type === "condition"
      ? [["true", `If ${node.id} holds`] as const, ["false", `If ${node.id} does not hold`] as const]
      : []
  const after = node.list === undefined ? [] : [["after", `After ${node.id}`] as const]
  return [...after, ...branches, ...inside, end]
}

function ConnectDialog({
  outline,
  node,
  ...dialog
}: EditDialogProps & { readonly outline: Outline; readonly node: string | undefined }) {
  const ids = outline.nodes.filter(({ type }) => type !== "goto").map(({ id }) => id)
  const [from, setFrom] = useState(node ?? ids[0] ?? "")
  const [to, setTo] = useState(ids.find((one) => one !== from) ?? from)
  const [condition, setCondition] = useState("")
  const options = ids.map((one) => [one, one] as const)
  const edit: Edit = {
    kind: "connect",
    from,
    to,
    ...(condition.trim() !== "" && { condition: condition.trim() }),
  }
  return (
    <EditForm title="Connect two nodes" verb="Connect" edit={edit} {...dialog}>
      <Choice label="From" value={from} options={options} onChange={setFrom} />
      <Choice label="To" value={to} options={options} onChange={setTo} />
      {outline.dialect === "graph" ? (
        <Field label="Condition (optional)" hint="An expression, or the name that an agent chooses.">
          {(props) => (
            <TextInput
              {...props}
              value={condition}
              onInput={(event) => setCondition(event.currentTarget.value)}
            />
          )}
        </Field>
      ) : (
        <p className={styles.hint}>
          Steps follow each other in the order of the list. A connection is a goto at the end of a list, or a
          branch of a condition.
        </p>
      )}
    </EditForm>
  )
}

function RenameDialog({ node, ...dialog }: EditDialogProps & { readonly node: string }) {
  const old = node.slice(node.lastIndexOf("/") + 1)
  const [name, setName] = useState(old === "*" ? "" : old)
  return (
    <EditForm
      title={`Rename ${node}`}
      verb="Rename"
      edit={{ kind: "rename", node, to: name.trim() }}
      {...dialog}
    >
      <Field label="Name" hint="Edges, gotos and templates that name it follow.">
        {(props) => (
          <TextInput
            {...props}
            value={name}
            autoFocus
            required
            maxLength={100}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        )}
      </Field>
    </EditForm>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly options: readonly (readonly [value: string, label: string])[]
  readonly onChange: (value: string) => void
}

function Choice({ label, ...rest }: ChoiceProps) {
  return <Field label={label}>{({ id }) => <Select id={id} label={label} {...rest} />}</Field>
}
