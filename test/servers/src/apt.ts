// Installs Debian packages without starting the services in them, which would sit on ports 11300 and 6379.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LOCK = '/run/test-servers-apt.lock';
const LOCK_LIMIT_SECONDS = 900;
const TAIL = 2_000;

/**
 * The arguments are packages. The script holds the lock, so it sees what another process installed before, if each package
 * has a program of the same name. Otherwise apt-get sees it.
 *
 * Debian asks policy-rc.d before a package starts its service; exit status 101 forbids it. The script never changes an
 * existing policy-rc.d, except one that an interrupted run of this script left behind. The script continues if the update
 * fails: one dead source is enough for that, and the lists of packages on this machine may be good enough.
 */
const INSTALL = `
set -u
all_there() { for name; do command -v "$name" >/dev/null || return 1; done; }
all_there "$@" && exit 0
policy=/usr/sbin/policy-rc.d
mark='# made by test-servers for the time of one installation'
if [ -f $policy ] && grep -qxF "$mark" $policy; then rm -f $policy; fi
trap 'exit 1' HUP INT TERM
if [ ! -e $policy ] && [ ! -L $policy ]; then
  trap 'rm -f $policy' EXIT
  printf '#!/bin/sh\\n%s\\nexit 101\\n' "$mark" >$policy
  chmod 755 $policy
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
`;

/** Several processes may call it at the same time: one of them installs, and the others wait for it. */
export async function installWithApt(packages: readonly string[]): Promise<void> {
  process.stderr.write(
    `The tests need ${packages.join(' and ')}. Running as root, so installing them now: apt-get install ${packages.join(' ')}\n`,
  );
  const folder = await mkdtemp(join(tmpdir(), 'test-servers-apt-'));
  try {
    // The output goes to a file, and the child has a session of its own. So a broken pipe or Ctrl-C cannot interrupt dpkg.
    const log = join(folder, 'output.log');
    const output = openSync(log, 'a');
    const script = ['/bin/sh', '-c', INSTALL, 'install', ...packages];
    const child = spawn('flock', ['-o', '-w', String(LOCK_LIMIT_SECONDS), LOCK, ...script], {
      stdio: ['ignore', output, output],
      detached: true,
    });
    closeSync(output);
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code === 0) return;
    const said = (await readFile(log, 'utf8')).slice(-TAIL).trim();
    throw new Error(
      `\`apt-get install ${packages.join(' ')}\` failed; its last output: ${said || `none, after ${LOCK_LIMIT_SECONDS} s of waiting for ${LOCK}`}`,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
