/** Where a channel of the state or an output comes from: which tasks wrote it, and the messages that led to them. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { client } from "../../api/session.ts"
import { brief } from "../../ui/format.ts"
import { Failure, Loading } from "../../ui/states.tsx"
import { COMMIT, type RunHistory } from "../history.ts"
import { nodeKey, taskKey } from "../keys.ts"
import { useNames } from "../node-names.ts"
import type { InspectorProps } from "../run-view-props.ts"
import styles from "./inspector.module.css"

/** One button for each channel and output; the chosen one is explained below. */
export function Provenance({ run, view, history, point, select }: InspectorProps) {
  const [chosen, setChosen] = useState<string>()
  const sources = [
    ...Object.keys(view.state).map((channel) => ({ name: channel, query: { channel } })),
    ...view.outputs.slice(0, MAX_OUTPUTS).map((_, output) => ({
      name: view.outputs.length === 1 ? "the output" : `output ${output + 1}`,
      query: { output },
    })),
  ]
  const found = sources.find(({ name }) => name === chosen)
  return (
    <>
      <div className={styles.channels} role="group" aria-label="Where it comes from">
        {sources.map(({ name }) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === chosen}
            onClick={() => setChosen(name === chosen ? undefined : name)}
          >
            who wrote {name}?
          </button>
        ))}
      </div>
      {found !== undefined && (
        <Sources run={run} query={{ ...found.query, ...pastOf(history, point) }} select={select} />
      )}
    </>
  )
}

const MAX_OUTPUTS = 5

/** The last superstep that was committed at the point; nothing for now. */
function pastOf({ outline: { commits }, length }: RunHistory, point: number): { readonly at?: string } {
  if (point >= length) return {}
  let superstep = 0
  for (let i = 0; i < commits.length && (commits[i] as number) <= point; i += COMMIT)
    superstep = commits[i + 1] as number
  return { at: String(superstep) }
}

interface SourcesProps extends Pick<InspectorProps, "run" | "select"> {
  readonly query: { readonly channel?: string; readonly output?: number; readonly at?: string }
}

function Sources({ run, query, select }: SourcesProps) {
  const names = useNames()
  const titleOf = (id: string) => names.title(nodeKey("", id))
  const { data, isError, error } = useQuery({
    queryKey: ["provenance", run, query],
    queryFn: async ({ signal }) =>
      (await client.request("GET /v1/runs/{run}/provenance", { path: { run }, query, signal })).data,
  })
  if (isError && data === undefined) return <Failure error={error} />
  if (data === undefined) return <Loading lines={2} />
  return (
    <ul className={styles.sources}>
      {data.sources.map(({ seq, kind, value, reducer, task }) => (
        <li key={`${seq} ${task?.task ?? kind}`}>
          {task === undefined ? (
            <strong>{kind === "start" ? "the start of the run" : "a fork"}</strong>
          ) : (
            <button
              type="button"
              className={styles.source}
              onClick={() => select({ kind: "task", key: taskKey([], task.task) })}
            >
              {titleOf(task.node)}, task {task.task}
            </button>
          )}{" "}
          <span className={styles.dim}>
            {reducer ?? ""} {brief(value, 80)}
          </span>
          {task !== undefined && task.from.length > 0 && (
            <p className={styles.dim}>from {task.from.map(({ node }) => titleOf(node)).join(", ")}</p>
          )}
        </li>
      ))}
      {data.sources.length === 0 && <li className={styles.dim}>Nothing has written it at this point.</li>}
    </ul>
  )
}
