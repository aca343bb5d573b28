import { Injectable } from '@nestjs/common';
import { Rows } from '../common/rows.js';
import { Settings } from '../settings.js';
import type { Deletion, Resource } from './resource.js';

@Injectable()
export class ResourcesRepository {
  private readonly rows: Rows<Resource>;

  constructor({ folder }: Settings) {
    this.rows = new Rows(folder, 'resources', (row) => ({
      ...row,
      ...(row.deletion && { deletion: readDeletion(row.deletion) }),
    }));
  }

  add(resource: Resource): void {
    this.rows.set(resource.id, resource);
  }

  find(id: string): Resource | undefined {
    return this.rows.get(id);
  }

  /** False, and no change, when the row is gone or has a deletion already. */
  setDeletion(id: string, deletion: Deletion): boolean {
    const resource = this.rows.get(id);
    if (!resource || resource.deletion) return false;
    this.rows.set(id, { ...resource, deletion });
    return true;
  }

  countNotice(id: string): void {
    const resource = this.rows.get(id);
    if (!resource?.deletion) return;
    const { deletion } = resource;
    this.rows.set(id, { ...resource, deletion: { ...deletion, noticesSent: deletion.noticesSent + 1 } });
  }

  /** What was planned, if anything was. */
  clearDeletion(id: string): Deletion | undefined {
    const resource = this.rows.get(id);
    if (!resource?.deletion) return undefined;
    const { deletion, ...kept } = resource;
    this.rows.set(id, kept);
    return deletion;
  }

  remove(id: string): void {
    this.rows.delete(id);
  }
}

function readDeletion({ at, notices, noticesSent }: Deletion): Deletion {
  return { at: new Date(at), notices: notices.map((notice) => new Date(notice)), noticesSent };
}
