import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Refusal } from './failures.js';
import type { Answer, HttpRequest } from './http.js';

/** The files that the page requests at once; the licences are for people. */
export const CLIENT_FILES = ['dashboard.js', 'dashboard.css', 'licences.txt'] as const;
/** The name of a file in `pages/`. It changes with what is in the file. */
export const PAGE_FILE = /^[a-z]+(-[a-z]+)*-[A-Z0-9]{8}\.js$/;

export type ClientFile = 'index.html' | (typeof CLIENT_FILES)[number] | `pages/${string}`;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.txt': 'text/plain',
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

  /** Rejects with a `Refusal` if the dashboard wasn't built, or has no such page, as after an update. */
  async answer(name: ClientFile, { headers }: HttpRequest): Promise<Answer> {
    const file = this.read.get(name) ?? (await this.readFirst(name));
    this.read.set(name, file);
    const known = {
      'Cache-Control': isPage(name) ? 'private, max-age=31536000, immutable' : 'no-cache',
      ETag: file.tag,
    };
    if (headers['if-none-match'] === file.tag) return { status: 304, headers: known, body: '' };
    return {
      headers: { ...known, 'Content-Type': `${TYPES[extname(name)]}; charset=utf-8` },
      body: file.text,
    };
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
    if (isPage(name))
      throw new Refusal(404, 'NOT_FOUND', `no file ${name}: another version of the dashboard has it`);
    const expected = this.folders.map((folder) => fileURLToPath(new URL(name, folder))).join(' or ');
    throw new Refusal(500, 'NOT_BUILT', `the dashboard page is missing: expected ${expected}`);
  }
}

/** Its name changes with its content, so that a browser needs it only once. All other files change with the library. */
function isPage(name: ClientFile): boolean {
  return name.startsWith('pages/');
}
