import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A table, small enough for an example: in memory, and written to a JSON file as a whole at each change. */
export class JsonTable<T> {
  private readonly file: string;
  private readonly rows: Map<string, T>;

  constructor(folder: string, name: string) {
    mkdirSync(folder, { recursive: true });
    this.file = join(folder, `${name}.json`);
    this.rows = new Map(
      existsSync(this.file) ? (JSON.parse(readFileSync(this.file, 'utf8')) as [string, T][]) : [],
    );
  }

  find(id: string): T | undefined {
    return this.rows.get(id);
  }

  list(): T[] {
    return [...this.rows.values()];
  }

  save(id: string, row: T): void {
    this.rows.set(id, row);
    this.write();
  }

  remove(id: string): void {
    this.rows.delete(id);
    this.write();
  }

  /** A kill in the middle leaves the file as it was. */
  private write(): void {
    writeFileSync(`${this.file}.new`, JSON.stringify([...this.rows]));
    renameSync(`${this.file}.new`, this.file);
  }
}
