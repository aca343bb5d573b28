import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT, unpackAll } from './packed-app.js';

/** A folder outside of the workspace with the packed packages, and those packages of the workspace that a test adds. */
export class BareFolder {
  private constructor(readonly path: string) {}

  static async make(): Promise<BareFolder> {
    const folder = new BareFolder(await mkdtemp(join(tmpdir(), 'nest-dq-bare-')));
    await unpackAll(folder.path);
    return folder;
  }

  /** The command `nest-dq` in it. */
  get program(): string {
    return join(this.place('nest-dq'), 'bin', 'nest-dq.js');
  }

  async add(...packages: readonly string[]): Promise<void> {
    for (const name of packages) {
      await mkdir(dirname(this.place(name)), { recursive: true });
      await symlink(join(ROOT, 'node_modules', name), this.place(name));
    }
  }

  /** Takes packages out again, as far as they are there. */
  async leaveOut(...packages: readonly string[]): Promise<void> {
    for (const name of packages) await rm(this.place(name), { force: true, recursive: true });
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true });
  }

  private place(name: string): string {
    return join(this.path, 'node_modules', name);
  }
}
