import { Inject, Injectable } from '@nestjs/common';
import { JsonTable } from '../common/json-table.js';
import { settings, type Settings } from '../settings.js';
import type { Deletion, Resource } from './resource.js';

@Injectable()
export class ResourcesRepository extends JsonTable<Resource> {
  constructor(@Inject(settings.KEY) { folder }: Settings) {
    super(folder, 'resources');
  }

  /** False, and no change, when the row is gone or has a deletion already. */
  setDeletion(id: string, deletion: Deletion): boolean {
    const resource = this.find(id);
    if (!resource || resource.deletion) return false;
    this.save(id, { ...resource, deletion });
    return true;
  }

  countNotice(id: string): void {
    const resource = this.find(id);
    if (!resource?.deletion) return;
    const { deletion } = resource;
    this.save(id, { ...resource, deletion: { ...deletion, noticesSent: deletion.noticesSent + 1 } });
  }

  /** False when nothing was planned. */
  clearDeletion(id: string): boolean {
    const resource = this.find(id);
    if (!resource?.deletion) return false;
    const { deletion: _, ...kept } = resource;
    this.save(id, kept);
    return true;
  }
}
