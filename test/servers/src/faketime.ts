// libfaketime: lets a program believe another time.
import { existsSync, readdirSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installWithApt } from './apt.js';

/** Debian's; it has a program of its name, and brings the library. */
const PACKAGE = 'faketime';
const LIBRARIES = '/usr/lib';

/** A clock that programs are given when they start, and that jumps when it is told to. */
export class FakeClock {
  private constructor(
    private readonly library: string,
    private readonly file: string,
  ) {}

  /**
   * Right at first; `file` will hold how wrong it is. Undefined where libfaketime cannot be had: it is installed with
   * apt-get on Debian and Ubuntu when we are root.
   */
  static async make(file: string): Promise<FakeClock | undefined> {
    const library = findLibrary() ?? (await install());
    if (library === undefined) return undefined;
    const clock = new FakeClock(library, file);
    await clock.jump(0);
    return clock;
  }

  /** What a program has in its environment to go by this clock. Its monotonic clock stays right. */
  get env(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: this.library,
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_NO_CACHE: '1', // so that it looks into the file at each question
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** From now on it is so many seconds ahead of the machine's; negative: behind. */
  async jump(ahead: number): Promise<void> {
    const next = `${this.file}.next`;
    await writeFile(next, `${ahead < 0 ? '' : '+'}${ahead}s\n`);
    await rename(next, this.file); // nobody ever sees half of it
  }
}

function findLibrary(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  return [LIBRARIES, ...readdirSync(LIBRARIES).map((folder) => join(LIBRARIES, folder))]
    .map((folder) => join(folder, 'faketime', 'libfaketime.so.1'))
    .find((path) => existsSync(path));
}

async function install(): Promise<string | undefined> {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return undefined;
  try {
    await installWithApt([PACKAGE]);
  } catch {
    return undefined; // no network, or no such package: the caller goes on without
  }
  return findLibrary();
}
