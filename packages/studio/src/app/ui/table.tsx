/** A table of some rows, where each cell may have controls. For lists of any length there is the virtual table. */
import type { ReactNode } from "react"
import styles from "./table.module.css"

export interface TableColumn<Row> {
  readonly id: string
  readonly title: string
  /** The title is for screen readers only. */
  readonly isTitleHidden?: boolean
  readonly isNumber?: boolean
  /** Not shown on narrow screens. */
  readonly isExtra?: boolean
  readonly cell: (row: Row) => ReactNode
}

interface TableProps<Row> {
  readonly label: string
  readonly columns: readonly TableColumn<Row>[]
  readonly rows: readonly Row[]
  readonly idOf: (row: Row) => string
  /** Below the last row, such as what loads more. */
  readonly footer?: ReactNode
}

export function Table<Row>({ label, columns, rows, idOf, footer }: TableProps<Row>) {
  const classOf = ({ isNumber, isExtra }: TableColumn<Row>) =>
    `${isNumber === true ? styles.number : ""} ${isExtra === true ? styles.extra : ""}`
  return (
    <section className={styles.scroller} aria-label={label} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" className={classOf(column)}>
                {column.isTitleHidden === true ? (
                  <span className="visually-hidden">{column.title}</span>
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={idOf(row)}>
              {columns.map((column) => (
                <td key={column.id} className={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {footer}
    </section>
  )
}

/** Part of a screen with a title: a card, as on Home. */
export function Panel({
  title,
  aside,
  children,
}: {
  readonly title: string
  readonly aside?: ReactNode
  readonly children: ReactNode
}) {
  return (
    <section className={styles.panel}>
      <header className={styles.head}>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  )
}
