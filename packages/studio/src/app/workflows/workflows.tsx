/** The workflows of this server, with how their runs of the last days went, and drafts that are not published. */
import type { Workflow } from "@superstep/client"
import { useState } from "react"
import { Link, useLocation } from "wouter"
import { useMay, useWorkflows } from "../api/queries.ts"
import { nameProblem } from "../definitions/definition-model.ts"
import { useDefinitions, useStatistics } from "../definitions/definition-queries.ts"
import { runHref } from "../frame/address.ts"
import { Bar } from "../frame/frame.tsx"
import { Button, LinkButton } from "../ui/button.tsx"
import { Field, Select, TextInput } from "../ui/field.tsx"
import { Money, Time } from "../ui/figures.tsx"
import { FormDialog } from "../ui/form-dialog.tsx"
import { count, duration, plural } from "../ui/format.ts"
import { Empty, Failure, Loading } from "../ui/states.tsx"
import { StatusIcon, statusWord } from "../ui/status.tsx"
import styles from "./workflows.module.css"

export default function Workflows() {
  const { data, isError, error, refetch } = useWorkflows()
  const { data: definitions = [] } = useDefinitions()
  const mayWrite = useMay("author")
  const [isNew, setNew] = useState(false)
  const drafts = definitions.filter(({ source, published }) => source === "store" && published === undefined)
  return (
    <>
      <Bar trail={[{ name: "Workflows" }]}>
        {mayWrite && (
          <Button icon="plus" look="primary" onClick={() => setNew(true)}>
            New workflow
          </Button>
        )}
      </Bar>
      {isNew && (
        <NewWorkflow
          taken={[...(data ?? []), ...definitions].map(({ name }) => name)}
          onClose={() => setNew(false)}
        />
      )}
      {isError && data === undefined ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <Loading lines={8} />
      ) : data.length === 0 && drafts.length === 0 ? (
        <Empty icon="workflows" title="This server has no workflows">
          <p>It shows the runs of its store. To start new ones, serve workflows:</p>
          <p>
            <code>superstep dev flows/</code>
          </p>
        </Empty>
      ) : (
        <div className={styles.cards}>
          {data.map((workflow) => (
            <Card key={workflow.name} workflow={workflow} />
          ))}
          {drafts.map(({ name, latest }) => (
            <DraftCard key={name} name={name} version={latest ?? 1} />
          ))}
        </div>
      )}
    </>
  )
}

/** Asks for the name; the editor opens with a small text that runs. Nothing is stored before it is saved there. */
function NewWorkflow({
  taken,
  onClose,
}: {
  readonly taken: readonly string[]
  readonly onClose: () => void
}) {
  const [, navigate] = useLocation()
  const [name, setName] = useState("")
  const [dialect, setDialect] = useState("steps")
  const [isTried, setTried] = useState(false)
  const problem = nameProblem(name, taken)
  const submit = () => {
    setTried(true)
    if (problem !== undefined) return undefined
    navigate(`/workflows/${encodeURIComponent(name)}?v=definition&new=${dialect}`)
    return undefined
  }
  return (
    <FormDialog title="New workflow" verb="Write it" onSubmit={submit} onClose={onClose}>
      <Field label="Name" hint="Runs are started by it." problem={isTried ? problem : undefined}>
        {(props) => (
          <TextInput
            {...props}
            autoFocus
            value={name}
            maxLength={100}
            spellCheck={false}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Written as" hint="A graph has nodes and edges, and agents may choose the next node.">
        {({ id }) => (
          <Select
            id={id}
            label="Written as"
            value={dialect}
            options={[
              ["steps", "Steps, one after another"],
              ["graph", "Graph"],
            ]}
            onChange={setDialect}
          />
        )}
      </Field>
    </FormDialog>
  )
}

function DraftCard({ name, version }: { readonly name: string; readonly version: number }) {
  return (
    <section className={styles.card}>
      <header className={styles.cardHead}>
        <h2>
          <Link href={`/workflows/${encodeURIComponent(name)}`}>{name}</Link>
        </h2>
        <LinkButton href={`/workflows/${encodeURIComponent(name)}?v=definition`}>Edit</LinkButton>
      </header>
      <p className={styles.draft}>Version {version} is a draft. Runs can start once one is published.</p>
    </section>
  )
}

function Card({ workflow: { name, nodes } }: { readonly workflow: Workflow }) {
  const { data } = useStatistics(name)
  const { successRate, p50, p95, usage = {}, last = [], runs } = data ?? {}
  const ended = Object.values(runs ?? {}).reduce((sum, one) => sum + one, 0)
  const href = `/workflows/${encodeURIComponent(name)}`
  const figures = [
    ["Runs, 7 days", data === undefined ? "–" : count(ended)],
    ["Completed", successRate === undefined ? "–" : `${Math.round(100 * successRate)}%`],
    ["Median", p50 === undefined ? "–" : duration(p50)],
    ["p95", p95 === undefined ? "–" : duration(p95)],
    ["Cost", <Money key="usd" usd={usage.usd} />],
  ] as const
  return (
    <section className={styles.card}>
      <header className={styles.cardHead}>
        <h2>
          <Link href={href}>{name}</Link>
        </h2>
        <LinkButton href={href} icon="play">
          Start
        </LinkButton>
      </header>
      <dl className={styles.figures}>
        {figures.map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <footer className={styles.last}>
        {last[0] === undefined ? (
          <span>No runs yet</span>
        ) : (
          <>
            <span className={styles.dots}>
              {last.map(({ id, status }) => (
                <Link
                  key={id}
                  href={runHref(id)}
                  aria-label={`Run ${id}: ${statusWord(status)}`}
                  title={`${id}: ${statusWord(status)}`}
                >
                  <StatusIcon status={status} size={12} />
                </Link>
              ))}
            </span>
            <Link href={`/runs?workflow=${encodeURIComponent(name)}`}>
              <Time at={last[0].createdAt} />
            </Link>
          </>
        )}
        <span className={styles.size}>{plural(nodes.length, "node")}</span>
      </footer>
    </section>
  )
}
