import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  ParseUUIDPipe,
  Post,
  UseFilters,
} from '@nestjs/common';
import { BodyOf } from '../common/body.js';
import { QueueUnavailableFilter } from '../common/queue-unavailable.filter.js';
import type { Deletion, Resource } from './resource.js';
import { ResourcesService } from './resources.service.js';

interface NewResource {
  name: string;
  owner: string;
}

const newResource = new BodyOf<NewResource>((fields) => ({
  name: fields.text('name'),
  owner: fields.email('owner'),
}));

/** A resource as clients see it. */
interface ResourceView extends Omit<Resource, 'deletion'> {
  readonly deletion?: Pick<Deletion, 'at' | 'notices'>;
}

function view({ deletion, ...resource }: Resource): ResourceView {
  return deletion ? { ...resource, deletion: { at: deletion.at, notices: deletion.notices } } : resource;
}

@Controller('resources')
@UseFilters(QueueUnavailableFilter)
export class ResourcesController {
  constructor(private readonly resources: ResourcesService) {}

  @Post()
  add(@Body(newResource) { name, owner }: NewResource): ResourceView {
    return view(this.resources.add(name, owner));
  }

  @Get(':id')
  show(@Param('id', ParseUUIDPipe) id: string): ResourceView {
    return view(this.resources.get(id));
  }

  @Delete(':id')
  @HttpCode(202)
  async delete(@Param('id', ParseUUIDPipe) id: string): Promise<ResourceView> {
    return view(await this.resources.planDeletion(id));
  }

  @Post(':id/undo')
  @HttpCode(200)
  async undo(@Param('id', ParseUUIDPipe) id: string): Promise<ResourceView & { revoked: boolean }> {
    const { resource, revoked } = await this.resources.undoDeletion(id);
    return { ...view(resource), revoked };
  }
}
