/** The documents of an index: list, add one, remove. */
import type { IndexDocuments } from "@superstep/client"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useState } from "react"
import { useMay } from "../api/queries.ts"
import { client, queries } from "../api/session.ts"
import { NeedsRole } from "../frame/needs-role.tsx"
import { Button } from "../ui/button.tsx"
import { Confirm } from "../ui/confirm.tsx"
import { Field, TextArea, TextInput } from "../ui/field.tsx"
import { Count, Time } from "../ui/figures.tsx"
import { FormDialog } from "../ui/form-dialog.tsx"
import { bytes, plural } from "../ui/format.ts"
import parts from "../ui/parts.module.css"
import { Empty, Loaded, ShowMore } from "../ui/states.tsx"
import { Table } from "../ui/table.tsx"
import { toast } from "../ui/toast.tsx"
import styles from "./knowledge.module.css"

export function Documents({ index }: { readonly index: string }) {
  const mayChange = useMay("author")
  const [isAdding, setAdding] = useState(false)
  const [removed, setRemoved] = useState<string>()
  const pages = useInfiniteQuery({
    queryKey: ["indexes", index, "documents"],
    queryFn: async ({ pageParam, signal }) =>
      (
        await client.request("GET /v1/indexes/{index}", {
          path: { index },
          query: { limit: 100, cursor: pageParam },
          signal,
        })
      ).data,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  })
  const list = pages.data?.pages.flatMap(({ documents }) => documents)
  return (
    <>
      <div className={parts.bar}>
        <NeedsRole needs="author" to="add or remove documents" className={parts.calm} />
        <Button icon="plus" disabled={!mayChange} onClick={() => setAdding(true)}>
          Add a document
        </Button>
      </div>
      <Loaded
        query={{ ...pages, data: list }}
        lines={8}
        empty={
          <Empty icon="knowledge" title="The index is empty">
            <p>
              Add a document here, or files with <code>superstep index add docs/</code>
            </p>
          </Empty>
        }
      >
        {(rows) => (
          <Table<IndexDocuments["documents"][number]>
            label="Documents"
            rows={rows}
            idOf={({ source }) => source}
            columns={[
              {
                id: "source",
                title: "Source",
                cell: ({ source }) => <span className={styles.source}>{source}</span>,
              },
              {
                id: "chunks",
                title: "Chunks",
                isNumber: true,
                cell: ({ chunks }) => <Count value={chunks} />,
              },
              { id: "size", title: "Size", isNumber: true, isExtra: true, cell: (one) => bytes(one.bytes) },
              { id: "added", title: "Added", isExtra: true, cell: ({ addedAt }) => <Time at={addedAt} /> },
              {
                id: "actions",
                title: "Actions",
                isTitleHidden: true,
                isNumber: true,
                cell: ({ source }) => (
                  <Button
                    look="quiet"
                    aria-label={`Remove ${source}`}
                    disabled={!mayChange}
                    onClick={() => setRemoved(source)}
                  >
                    Remove
                  </Button>
                ),
              },
            ]}
            footer={<ShowMore pages={pages} />}
          />
        )}
      </Loaded>
      {isAdding && <AddDialog index={index} onClose={() => setAdding(false)} />}
      {removed !== undefined && (
        <RemoveDialog index={index} source={removed} onClose={() => setRemoved(undefined)} />
      )}
    </>
  )
}

async function renew(): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: ["indexes"] }),
    queries.invalidateQueries({ queryKey: ["index-search"] }),
  ])
}

function AddDialog({ index, onClose }: { readonly index: string; readonly onClose: () => void }) {
  const [source, setSource] = useState("")
  const [text, setText] = useState("")
  const submit = async () => {
    if (source.trim() === "" || text.trim() === "") return "Write a source and the content."
    const body = { documents: [{ source: source.trim(), text }] }
    const { data } = await client.request("POST /v1/indexes/{index}/documents", { path: { index }, body })
    const [problem] = data.problems
    if (problem !== undefined) return problem.reason
    toast(data.unchanged > 0 ? "The index already has this text." : `Added ${plural(data.chunks, "chunk")}.`)
    await renew()
    onClose()
    return undefined
  }
  return (
    <FormDialog title={`Add a document to ${index}`} verb="Add" onSubmit={submit} onClose={onClose}>
      <Field
        label="Source"
        hint="Its name in the index, such as faq.md. A document with the same source is replaced."
      >
        {(props) => (
          <TextInput
            {...props}
            value={source}
            spellCheck={false}
            onInput={(event) => setSource(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Text">
        {(props) => (
          <TextArea
            {...props}
            rows={10}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
      </Field>
    </FormDialog>
  )
}

function RemoveDialog({
  index,
  source,
  onClose,
}: {
  readonly index: string
  readonly source: string
  readonly onClose: () => void
}) {
  const remove = async () => {
    const input = { path: { index }, query: { source }, body: {} }
    await client.request("DELETE /v1/indexes/{index}/documents", input)
    toast(`Removed ${source}.`)
    await renew()
  }
  return (
    <Confirm title={`Remove ${source}`} verb="Remove" onConfirm={remove} onClose={onClose}>
      <p>Its chunks leave the index {index}. The file that it came from stays.</p>
    </Confirm>
  )
}
