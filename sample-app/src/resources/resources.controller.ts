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
import { QueueUnavailableFilter } from '../common/queue-unavailable.filter.js';
import { CreateResourceDto } from './create-resource.dto.js';
import type { Deletion, Resource } from './resource.js';
import { ResourcesService } from './resources.service.js';

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
  add(@Body() resource: CreateResourceDto): ResourceView {
    return view(this.resources.add(resource));
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
