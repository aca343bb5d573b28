import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Refusal } from './failures.js';
import type { Answer, HttpRequest } from './http.js';

/** The files requested by the page, `chinese.js` only if it's in Chinese; the licences are for people. */
export const CLIENT_FILES = ['dashboard.js', 'dashboard.css', 'chinese.js', 'licences.txt'] as const;
export type ClientFile = 'index.html' | (typeof CLIENT_FILES)[number];

const TYPES: Readonly<Record<ClientFile, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'dashboard.js': 'text/javascript; charset=utf-8',
  'dashboard.css': 'text/css; charset=utf-8',
  'chinese.js': 'text/javascript; charset=utf-8',
  'licences.txt': 'text/plain; charset=utf-8',
};

/** Where the page may be, relative to this file: next to the ES modules, from the CommonJS build, and from the sources. */
const FOLDERS = ['./client/', '../../dashboard/client/', '../../dist/dashboard/client/'].map(
  (folder) => new URL(folder, import.meta.url),
);

interface Content {
  readonly text: string;
  readonly tag: string;
}

/** The files of the page. Each is read once. */
export class ClientFiles {
  private readonly read = new Map<ClientFile, Content>();

  /** The first folder that has a file is used. */
  constructor(private readonly folders: readonly URL[] = FOLDERS) {}

  /** Rejects with a `Refusal` if the page wasn't built. */
  async answer(name: ClientFile, { headers }: HttpRequest): Promise<Answer> {
    const file = this.read.get(name) ?? (await this.readFirst(name));
    this.read.set(name, file);
    // A new version of the library takes effect at once.
    const known = { 'Cache-Control': 'no-cache', ETag: file.tag };
    if (headers['if-none-match'] === file.tag) return { status: 304, headers: known, body: '' };
    return { headers: { ...known, 'Content-Type': TYPES[name] }, body: file.text };
  }

  private async readFirst(name: ClientFile): Promise<Content> {
    for (const folder of this.folders) {
      try {
        const text = await readFile(new URL(name, folder), 'utf8');
        const hash = createHash('sha256').update(text).digest('base64url').slice(0, 16);
        return { text, tag: `"${hash}"` };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
    const expected = this.folders.map((folder) => fileURLToPath(new URL(name, folder))).join(' or ');
    throw new Refusal(500, 'NOT_BUILT', `the dashboard page is missing: expected ${expected}`);
  }
}
