/** The versions of a definition: what changed between two, which one is published, what they are called, and who did what. */
import type { Definition, DefinitionVersion } from "@superstep/client"
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { client } from "../api/session.ts"
import { useAddress } from "../frame/address.ts"
import { Who } from "../frame/who.tsx"
import { Button, IconButton } from "../ui/button.tsx"
import { Chip } from "../ui/chip.tsx"
import { Dialog } from "../ui/dialog.tsx"
import { Field, Select, TextInput } from "../ui/field.tsx"
import { Time } from "../ui/figures.tsx"
import { Icon } from "../ui/icon.tsx"
import parts from "../ui/parts.module.css"
import { Empty, Failure, Loading } from "../ui/states.tsx"
import { toast, toastProblem } from "../ui/toast.tsx"
import { diffRows, graphChange, logWords, marksOf } from "./definition-model.ts"
import { useDiff, useVersion, useVersions } from "./definition-queries.ts"
import { PublishDialog } from "./publish.tsx"
import styles from "./versions.module.css"

const PAGE = 50
/** What the server accepts as an alias. */
const ALIAS = "[A-Za-z][A-Za-z0-9_\\-]{0,49}"

interface VersionsProps {
  readonly definition: Definition
  /** Why it cannot be changed; undefined: it can. */
  readonly reason: string | undefined
}

export function Versions({ definition, reason }: VersionsProps) {
  const { latest, published, log } = definition
  const [params, setAddress] = useAddress()
  const [count, setCount] = useState(PAGE)
  const versions = useVersions(definition, count)
  if (latest === undefined) {
    return (
      <Empty icon="workflows" title="No versions yet">
        <p>{reason ?? "A draft that you save in the editor is the first version."}</p>
      </Empty>
    )
  }
  if (versions.data === undefined) {
    if (versions.isError) return <Failure error={versions.error} retry={() => void versions.refetch()} />
    return <Loading lines={10} />
  }
  const selected = Number(params.get("version")) || latest
  const from = Number(params.get("from")) || defaultFrom(selected, published)
  return (
    <div className={styles.versions}>
      <nav className={parts.list} aria-label="Versions">
        <ul>
          {versions.data.map((version) => (
            <li key={version.version}>
              <VersionRow
                version={version}
                definition={definition}
                isSelected={version.version === selected}
                onSelect={() => setAddress({ version: String(version.version), from: undefined })}
              />
            </li>
          ))}
        </ul>
        {versions.data.length < latest && (
          <Button look="quiet" onClick={() => setCount(count + 10 * PAGE)}>
            Show older versions
          </Button>
        )}
        {log.length > 0 && (
          <section className={styles.log}>
            <h2>What happened</h2>
            <ol>
              {log.toReversed().map((entry) => (
                <li key={`${entry.at}/${entry.action}/${entry.version}/${entry.alias}`}>
                  <p>
                    <Who id={entry.by} /> {logWords(entry)}
                  </p>
                  {entry.reason !== undefined && <p className={styles.reason}>“{entry.reason}”</p>}
                  <Time at={entry.at} />
                </li>
              ))}
            </ol>
          </section>
        )}
      </nav>
      <section className={styles.detail} aria-label={`Version ${selected}`}>
        {reason !== undefined && (
          <p className={parts.notice} role="note">
            {reason}
          </p>
        )}
        <div className={parts.bar}>
          <h2>Version {selected}</h2>
          <span className={styles.against}>
            compared with
            <Select
              label="Compared with"
              value={String(from)}
              options={[
                ...(from === selected ? [[String(selected), "no other"] as const] : []),
                ...versions.data
                  .filter(({ version }) => version !== selected)
                  .map(({ version }) => [String(version), `version ${version}`] as const),
              ]}
              onChange={(value) => setAddress({ from: value })}
            />
          </span>
          <span className={styles.actions}>
            {reason === undefined && (
              <VersionActions key={selected} definition={definition} version={selected} />
            )}
          </span>
        </div>
        <Difference name={definition.name} from={from} to={selected} />
      </section>
    </div>
  )
}

/** What a version changes: compared with the published one, or with the one before. */
function defaultFrom(selected: number, published: number | undefined): number {
  return published !== undefined && selected > published ? published : Math.max(1, selected - 1)
}

function VersionRow({
  version: { version, createdAt, createdBy, note },
  definition,
  isSelected,
  onSelect,
}: {
  readonly version: DefinitionVersion
  readonly definition: Definition
  readonly isSelected: boolean
  readonly onSelect: () => void
}) {
  const { state, aliases } = marksOf(definition, version)
  return (
    <button type="button" className={parts.item} aria-current={isSelected || undefined} onClick={onSelect}>
      <span className={styles.number}>
        Version {version}
        <span className={styles.state} data-state={state}>
          {state === "published" && <Icon name="check" size={12} />}
          {state}
        </span>
        {aliases.map((alias) => (
          <Chip key={alias}>{alias}</Chip>
        ))}
      </span>
      {note !== undefined && <span className={styles.note}>{note}</span>}
      <span className={styles.by}>
        <Who id={createdBy} /> · <Time at={createdAt} />
      </span>
    </button>
  )
}

function VersionActions({
  definition,
  version,
}: {
  readonly definition: Definition
  readonly version: number
}) {
  const { name } = definition
  const [, setAddress] = useAddress()
  const [open, setOpen] = useState<"publish" | "rollback" | "alias">()
  const { state } = marksOf(definition, version)
  const { data } = useVersion(name, version)
  const close = () => setOpen(undefined)
  return (
    <>
      <Button onClick={() => setAddress({ v: "definition", version: String(version), from: undefined })}>
        Edit
      </Button>
      <Button onClick={() => setOpen("alias")}>Names…</Button>
      {state === "earlier" && (
        <Button icon="back" onClick={() => setOpen("rollback")}>
          Roll back…
        </Button>
      )}
      {state === "draft" && (
        <Button look="primary" icon="check" disabled={data === undefined} onClick={() => setOpen("publish")}>
          Publish…
        </Button>
      )}
      {open === "publish" && data !== undefined && (
        <PublishDialog
          definition={definition}
          text={data.text}
          version={() => Promise.resolve(version)}
          onClose={close}
        />
      )}
      {open === "rollback" && <RollbackDialog name={name} version={version} onClose={close} />}
      {open === "alias" && <AliasDialog definition={definition} version={version} onClose={close} />}
    </>
  )
}

interface VersionDialogProps {
  readonly version: number
  readonly onClose: () => void
}

function RollbackDialog({ name, version, onClose }: VersionDialogProps & { readonly name: string }) {
  const cache = useQueryClient()
  const [reason, setReason] = useState("")
  const [isBusy, setBusy] = useState(false)
  const rollBack = async () => {
    setBusy(true)
    try {
      await client.request("POST /v1/definitions/{definition}/rollback", {
        path: { definition: name },
        body: { to: version, ...(reason.trim() !== "" && { reason: reason.trim() }) },
      })
      toast(`Version ${version} is published again.`)
      await cache.invalidateQueries()
      onClose()
    } catch (error) {
      toastProblem(error)
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={`Roll back to version ${version}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" isBusy={isBusy} onClick={rollBack}>
            Roll back
          </Button>
        </>
      }
    >
      <div className={styles.form}>
        <p>
          New runs have version {version} at once, without a replay check: it was published before. Runs in
          flight stay with their version.
        </p>
        <Field label="Reason (optional)" hint="The audit log keeps it.">
          {(props) => (
            <TextInput
              {...props}
              value={reason}
              maxLength={1_000}
              onInput={(event) => setReason(event.currentTarget.value)}
            />
          )}
        </Field>
      </div>
    </Dialog>
  )
}

function AliasDialog({
  definition: { name, aliases },
  version,
  onClose,
}: VersionDialogProps & { readonly definition: Definition }) {
  const cache = useQueryClient()
  const [alias, setAlias] = useState("")
  const change = async (work: () => Promise<unknown>) => {
    try {
      await work()
      setAlias("")
      await cache.invalidateQueries({ queryKey: ["definition", name] })
    } catch (error) {
      toastProblem(error)
    }
  }
  return (
    <Dialog title={`Names of version ${version}`} onClose={onClose}>
      <div className={styles.form}>
        <p>Start a run with a name to have the version that it stands for. A name has one version.</p>
        <ul className={styles.names}>
          {Object.entries(aliases).map(([one, of]) => (
            <li key={one}>
              <code>{one}</code>
              <span>version {of}</span>
              <IconButton
                icon="cross"
                label={`Remove the name ${one}`}
                onClick={() =>
                  void change(() =>
                    client.request("DELETE /v1/definitions/{definition}/aliases/{alias}", {
                      path: { definition: name, alias: one },
                    }),
                  )
                }
              />
            </li>
          ))}
        </ul>
        <form
          className={styles.add}
          onSubmit={(event) => {
            event.preventDefault()
            void change(() =>
              client.request("PUT /v1/definitions/{definition}/aliases/{alias}", {
                path: { definition: name, alias },
                body: { version },
              }),
            )
          }}
        >
          <Field label="Name" hint="Letters, digits, - and _, such as beta.">
            {(props) => (
              <TextInput
                {...props}
                value={alias}
                pattern={ALIAS}
                required
                onInput={(event) => setAlias(event.currentTarget.value)}
              />
            )}
          </Field>
          <Button type="submit" icon="plus">
            Name version {version}
          </Button>
        </form>
      </div>
    </Dialog>
  )
}

function Difference({
  name,
  from,
  to,
}: {
  readonly name: string
  readonly from: number
  readonly to: number
}) {
  const diff = useDiff(name, from, to)
  if (diff.isError && diff.data === undefined)
    return <Failure error={diff.error} retry={() => void diff.refetch()} />
  if (diff.data === undefined) return <Loading lines={10} label="Loading the difference" />
  const rows = diffRows(diff.data.text)
  const isSame = rows.every(({ kind }) => kind === "same" || kind === "fold")
  return (
    <div className={styles.difference}>
      {!isSame && (
        <div className={styles.effect}>
          {diff.data.graph.length === 0 ? (
            "The graph is the same: runs in flight can follow."
          ) : (
            <>
              The graph changes: runs in flight stay with their version.
              <ul className={styles.changes}>
                {diff.data.graph.map(graphChange).map(({ sign, text }) => (
                  <li key={`${sign}${text}`} data-sign={sign}>
                    <code>
                      {sign} {text}
                    </code>
                  </li>
                ))}
              </ul>
            </>
          )}
        </div>
      )}
      {isSame && from !== to && <p className={styles.effect}>Both versions have the same text.</p>}
      <div className={styles.code} role="region" aria-label="Difference" tabIndex={0}>
        <table>
          <tbody>
            {(isSame ? plainRows(diff.data.text) : rows).map(({ kind, before, after, text }) => (
              <tr key={`${kind}/${before}/${after}`} data-kind={kind}>
                <td className={styles.lineNumber}>{before}</td>
                <td className={styles.lineNumber}>{after}</td>
                <td className={styles.sign}>{kind === "added" ? "+" : kind === "removed" ? "−" : ""}</td>
                <td className={styles.line}>{text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

/** Without changes there is nothing to fold around: the whole text. */
function plainRows(parts: Parameters<typeof diffRows>[0]) {
  return parts
    .flatMap(({ lines }) => lines)
    .map((text, i) => ({ kind: "same" as const, before: i + 1, after: i + 1, text }))
}
