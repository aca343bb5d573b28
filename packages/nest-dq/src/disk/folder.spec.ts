import { mkdir, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { contents, folderOfTest } from '../../spec-support/folder-of-test.js';

const folder = folderOfTest();

describe('a folder is refused that', () => {
  it.each([['package.json'], ['a', 'b', 'c', 'd', 'e']])('has other files in it: %s …', async (...files) => {
    await mkdir(folder.dir);
    for (const file of files) await writeFile(join(folder.dir, file), 'x');
    const shown = files.length === 1 ? 'package\\.json' : 'a, b, c and 2 more';
    expect(await folder.refusedAsItIs()).toMatch(
      new RegExp(
        `the folder .* contains other files \\(${shown}\\) and was left unchanged: give nest-dq its own folder`,
      ),
    );
    expect(await readdir(folder.dir)).toEqual(files);
  });

  it('is of a newer format', async () => {
    await folder.store({ a: '1' });
    await writeFile(join(folder.dir, 'nest-dq.json'), '{"format":2}\n');
    expect(await folder.refusedAsItIs()).toMatch(
      /has format 2 and was left unchanged: this version of nest-dq reads formats up to 1/,
    );
  });

  it('is a database of someone else', async () => {
    await folder.store({ a: '1' });
    await rm(join(folder.dir, 'nest-dq.json'));
    expect(await folder.refusedAsItIs()).toMatch(/contains the database of another program/);
  });

  it('is no folder, or below what is none', async () => {
    const file = folder.dir;
    await writeFile(file, '');
    expect(await folder.refused()).toBe(
      `DQ_DISK: ${file} is not a folder: expected a folder, or a path where nothing exists yet`,
    );
    folder.dir = join(file, 'in', 'depth');
    expect(await folder.refused()).toBe(
      `DQ_DISK: the folder ${folder.dir} cannot be created: ${file} is not a folder: expected a folder, or a path where nothing exists yet`,
    );
    expect(await readFile(file, 'utf8')).toBe('');
  });

  it('is a link to nothing, or below one', async () => {
    const link = folder.dir;
    await symlink(join(folder.parent, 'away'), link);
    for (const dir of [link, join(link, 'below')]) {
      folder.dir = dir;
      expect(await folder.refused()).toBe(
        `DQ_DISK: the folder ${dir} cannot be created: ${link} is a link to a path that does not exist: expected a folder, or a path where nothing exists yet`,
      );
    }
    expect(await readdir(folder.parent)).toEqual(['data']);
  });

  const onLinux = process.platform === 'linux' ? it : it.skip;

  onLinux('is where none can be made', async () => {
    // As `/proc/nest-dq` is: the folder above exists, and to make one says ENOENT.
    folder.dir = join('/proc', 'nest-dq', 'data');
    expect(await folder.refused()).toMatch(
      /the folder \/proc\/nest-dq\/data cannot be created: E[A-Z]+: .*'\/proc\/nest-dq'; expected a path where/,
    );
  });
});

describe('a folder can be opened that', () => {
  it('has hidden files, or is the top of a file system', async () => {
    await mkdir(join(folder.dir, 'lost+found'), { recursive: true });
    await writeFile(join(folder.dir, '.gitkeep'), '');
    await folder.store({ a: '1' });
    expect(await contents(await folder.open())).toEqual({ a: '1' });
    expect(await readdir(folder.dir)).toEqual(expect.arrayContaining(['.gitkeep', 'lost+found']));
  });

  it('got other files once it was ours', async () => {
    await folder.store({ a: '1' });
    await writeFile(join(folder.dir, 'notes.txt'), '');
    expect(await contents(await folder.open())).toEqual({ a: '1' });
  });

  it('was left in its first moments', async () => {
    await mkdir(folder.dir);
    await writeFile(join(folder.dir, 'nest-dq.json'), '{"format":1}\n');
    await writeFile(join(folder.dir, 'MANIFEST-000001'), '');
    await folder.store({ a: '1' });
    expect(await contents(await folder.open())).toEqual({ a: '1' });
  });
});
