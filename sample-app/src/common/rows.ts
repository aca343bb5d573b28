import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A table, small enough for an example: in memory, and written to a JSON file as a whole at each change. */
export class Rows<T> {
  private readonly file: string;
  private readonly rows: Map<string, T>;

  /** `read` makes a row of what JSON left of it, where that is not the same. */
  constructor(folder: string, name: string, read: (row: T) => T = (row) => row) {
    mkdirSync(folder, { recursive: true });
    this.file = join(folder, `${name}.json`);
    const kept = existsSync(this.file) ? (JSON.parse(readFileSync(this.file, 'utf8')) as [string, T][]) : [];
    this.rows = new Map(kept.map(([id, row]) => [id, read(row)]));
  }

  get(id: string): T | undefined {
    return this.rows.get(id);
  }

  list(): T[] {
    return [...this.rows.values()];
  }

  set(id: string, row: T): void {
    this.rows.set(id, row);
    this.save();
  }

  delete(id: string): void {
    this.rows.delete(id);
    this.save();
  }

  /** A kill in the middle leaves the file as it was. */
  private save(): void {
    writeFileSync(`${this.file}.new`, JSON.stringify([...this.rows]));
    renameSync(`${this.file}.new`, this.file);
  }
}
